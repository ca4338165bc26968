import Type, { type Static } from 'typebox'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import { AuditLogSchema, OperatorEntrySchema } from '../../listeners/private/schemas/audit-log.ts'
import { PersonSchema } from '../../listeners/private/schemas/people.ts'
import { badge, instant } from '../desk-parts.ts'
import { actAndReturn } from '../done.ts'
import { option } from '../fields.ts'
import { filterFault, listFiltered } from '../filters.ts'
import { type Column, pages, renderTable } from '../listing.ts'
import { type Act, formFields, type Screen, type Visit } from '../screen.ts'
import {
  composeEntryQuery,
  type EntryFilter,
  entryTable,
  explainFilterFault,
  listOfferedActs,
  nameEntryAct,
  readEntryFilter,
} from './audit-entries.ts'
import { exportEntries, exportedMost, isExportFormat } from './audit-export.ts'

type Log = Static<typeof AuditLogSchema>
type Person = Static<typeof PersonSchema>

const title = 'Audit log'

/** The acts of operators, with filters and as a file; and the logs with their signatures. */
export const auditLogScreen: Screen = {
  path: '/console/audit-log',
  access: ['admin', 'audit.read'],
  navigation: title,
  async show(visit) {
    const filter = readEntryFilter(visit)
    const fault = explainFilterFault(filter)
    const { as } = visit.query
    if (fault === null && isExportFormat(as)) {
      return { title, body: html``, file: await exportEntries(visit, filter, as) }
    }
    const [logs, people, found] = await Promise.all([
      visit.read('/audit/logs', Type.Array(AuditLogSchema)),
      visit.read('/people?limit=100', Type.Array(PersonSchema)),
      fault === null
        ? listFiltered(
            visit,
            `/audit/entries?${composeEntryQuery(filter)}`,
            OperatorEntrySchema,
            50,
          )
        : null,
    ])
    const shownFault = fault ?? found?.fault ?? null
    const refused = logs.find(({ refusal }) => refusal !== null)
    return {
      title,
      ...(shownFault !== null && { status: 422 }),
      body: html`${refused && unsignedNotice(visit, refused)}
        ${filterForm(filter, people, shownFault)}
        ${shownFault === null && found && entryTable(visit, found.entries)}
        ${found && pages(visit, found.next)}
        ${found && found.entries.length > 0 && exportLinks(visit)}
        <h2>Logs</h2>
        ${logTable(logs)}
        <p><a href="/audit">Verify the log in this browser</a></p>`,
    }
  },
}

const filterForm = (
  filter: EntryFilter,
  people: readonly Person[],
  fault: string | null,
): Content =>
  html`<form method="get" action="/console/audit-log" class="row filter">
    ${personField(filter.person, people)}
    <label>Act<select name="act">
      <option value="">Any act</option>
      ${listOfferedActs(filter.act).map((act) => option(act, nameEntryAct(act), filter.act))}
    </select></label>
    <label>Card token<input name="card" inputmode="numeric" maxlength="10" autocomplete="off"
      size="11" value="${filter.card}"></label>
    <label>From day, UTC<input type="date" name="from" value="${filter.from}"></label>
    <label>To day, UTC<input type="date" name="to" value="${filter.to}"></label>
    <button>Filter</button>
    ${Object.values(filter).some(Boolean) && html`<a href="/console/audit-log">Clear</a>`}
  </form>
  ${filterFault(fault)}`

/** Offers the people who have signed in, and the person of the filter. */
function personField(asked: string, people: readonly Person[]): Content {
  const isListed = asked === '' || people.some(({ personId }) => personId === asked)
  return html`<label>Person<select name="person">
    <option value="">Anybody</option>
    ${!isListed && option(asked, asked, asked)}
    ${people.map(({ name, personId }) => option(personId, name, asked))}
  </select></label>`
}

/**
 * Links to the files of what is shown, without its page. The answer names the file: with the
 * attribute `download`, a browser would save the page of a sign-in in its place.
 */
function exportLinks({ here }: Pick<Visit, 'here'>): Content {
  const { pathname, searchParams } = new URL(here, 'http://console.invalid')
  const link = (format: string, words: string) => {
    const asked = new URLSearchParams(searchParams)
    asked.delete('cursor')
    asked.set('as', format)
    return html`<a href="${pathname}?${String(asked)}">${words}</a>`
  }
  return html`<p class="fine">
    Export these acts as ${link('csv', 'CSV')} or ${link('jsonl', 'JSON lines')}: the newest
    ${exportedMost.toLocaleString('en-GB')} at most.
  </p>`
}

const logTable = (logs: readonly Log[]): Content =>
  renderTable({
    name: 'Logs',
    columns: logColumns,
    rows: logs,
    empty: 'No log has begun yet. It begins with the first act.',
  })

const logColumns: readonly Column<Log>[] = [
  { title: 'Log', kind: 'name', tip: ({ origin }) => origin, cell: ({ log }) => log },
  {
    title: 'State',
    cell: (log) => [
      stateBadge(log),
      ' ',
      log.reason !== null && html`<span class="fine">${log.reason}</span>`,
    ],
  },
  { title: 'Entries', kind: 'number', cell: ({ size }) => size },
  { title: 'Covered by a checkpoint', kind: 'number', cell: ({ signedSize }) => signedSize },
  { title: 'Signed', cell: ({ signedAt }) => instant(signedAt) ?? 'Never' },
  { title: 'Began', cell: ({ beganAt }) => instant(beganAt) },
]

/** Says that the log is not signed, and lets an administrator begin its successor. */
const unsignedNotice = (visit: Visit, { refusal }: Log): Content =>
  html`<div class="notice bad" role="alert"><p>No checkpoint is signed: ${refusal}</p></div>
    ${
      visit.scopes.has('admin') &&
      html`<form method="post" action="/console/audit-log/successor" class="stack">
        ${formFields(visit)}
        <h2>Begin a successor</h2>
        <label>Reason, for the auditors of the log<input name="reason" required
          maxlength="500" autocomplete="off"></label>
        <p class="hint">
          This closes the log permanently. Its entries that no checkpoint covers move to the
          successor.
        </p>
        <button class="danger">Begin a successor</button>
      </form>`
    }`

function stateBadge({ closedAt, refusal }: Static<typeof AuditLogSchema>): Html {
  if (refusal !== null) return badge('Refused', 'bad')
  return closedAt === null ? badge('In use', 'good') : badge('Closed')
}

export const succeedLogAct: Act = {
  path: '/console/audit-log/successor',
  access: 'admin',
  perform: (visit, { reason }) =>
    actAndReturn(visit, 'POST', '/audit/successor', {
      body: { reason },
      to: '/console/audit-log',
      done: 'The log is closed, and its successor has begun.',
    }),
}
