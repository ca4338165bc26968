import type { Static } from 'typebox'
import { isPublicToken, isUuid } from '../../domain/identifiers.ts'
import { toMembers } from '../../domain/members.ts'
import { withoutUuids } from '../../domain/pan.ts'
import { isPersonId } from '../../domain/person.ts'
import { type Content, html } from '../../listeners/http/html.ts'
import type { OperatorEntrySchema } from '../../listeners/private/schemas/audit-log.ts'
import { cardLink } from '../card-links.ts'
import { badge, capitalize, instantInRow, renderActor, type Tone } from '../desk-parts.ts'
import { type Column, renderTable } from '../listing.ts'
import { path, type Visit } from '../screen.ts'
import { actName } from './act-names.ts'

export type OperatorEntry = Static<typeof OperatorEntrySchema>

/** The filter of a reader. Days are in UTC, `to` included; empty texts filter nothing. */
export interface EntryFilter {
  readonly person: string
  readonly act: string
  readonly card: string
  readonly from: string
  readonly to: string
}

/** Reads the filter of an address. */
export const readEntryFilter = ({
  query: { act = '', card = '', from = '', person = '', to = '' },
}: Pick<Visit, 'query'>): EntryFilter => ({ act, card, from, person, to })

/** Whether a text is a day of the calendar that a time of the log can have. */
function isDay(text: string): boolean {
  if (!/^(?:19|2\d)\d{2}-\d{2}-\d{2}$/.test(text)) return false
  const atMs = Date.parse(text)
  // The parser takes 30 February for 2 March.
  return !Number.isNaN(atMs) && new Date(atMs).toISOString().startsWith(text)
}

/** Explains the first fault of a filter; null if it can be searched. */
export function explainFilterFault({ act, card, from, person, to }: EntryFilter): string | null {
  if (card !== '' && !isPublicToken(card)) return 'The token of a card has ten digits.'
  if (card !== '' && (person !== '' || act !== '')) {
    return 'Search by a card alone, or by person and act. Clear the other fields.'
  }
  const isTimed = [from, to].every((day) => day === '' || isDay(day))
  return isTimed ? null : 'A day has the form 2026-11-29.'
}

const dayMs = 86_400_000

/** Composes the query of the private listener. */
export function composeEntryQuery({ act, card, from, person, to }: EntryFilter): string {
  const members = {
    clientId: person,
    act,
    publicToken: card,
    from: from && `${from}T00:00:00Z`,
    to: to && new Date(Date.parse(to) + dayMs).toISOString(),
  }
  const given = Object.entries(members).filter(([, value]) => value !== '')
  return String(new URLSearchParams(given))
}

/** The acts that the filter offers, as the log names them. */
const offeredActs = [
  'card.status_changed',
  'pin.unblocked',
  'cvv.unblocked',
  'cardholder.revealed',
  'pan.searched',
  'person.signed_in',
  'person.signed_out',
  'person.sign_in_failed',
  'person.sessions_ended',
  'approval.asked',
  'approval.approved',
  'approval.refused',
  'client.created',
  'client.changed',
  'client.enabled',
  'client.disabled',
  'client.secret_rotated',
  'client.webhook_replayed',
  'client.delivery_resent',
  'product.created',
  'product.changed',
  'product.controls_changed',
  'product.resumed',
  'product.retired',
  'key.generated',
  'key.imported',
  'key.activated',
  'key.retired',
  'key.deleted',
] as const

const otherWords: ReadonlyMap<string, string> = new Map([
  ['pan.searched', 'Card number searched'],
  ['person.sign_in_failed', 'Sign-in failed'],
])

/** Names an act in words: `client.secret_rotated` is “Client secret rotated”. */
export function nameEntryAct(act: string): string {
  const known = otherWords.get(act) ?? actName(act)
  if (known !== act) return known
  // Some acts contain an id, which their details have, too.
  const words = withoutUuids(act)
    .replace(/[._]uuid(?![a-z])/, '')
    .replaceAll(/[._]/g, ' ')
  return capitalize(words).replace(/^(?:Pin|Cvv)\b/, (word) => word.toUpperCase())
}

/** Lists the acts of the filter, with one that it does not offer but was asked for. */
export const listOfferedActs = (asked: string): readonly string[] =>
  asked === '' || offeredActs.some((each) => each === asked) ? offeredActs : [asked, ...offeredActs]

/**
 * The screens of subjects, by the first word of an act. A reader of the log may open all but the
 * keys.
 */
const subjectPages: Readonly<Record<string, (subject: string) => string>> = {
  approval: (subject) => path`/console/approvals/${subject}`,
  client: (subject) => path`/console/clients/${subject}`,
  person: (subject) => path`/console/people/${subject}`,
  product: () => '/console/products',
  key: () => '/console/keys',
}

/** Renders the subject of an act, which links to its page if the reader may open that. */
function renderSubject({ scopes }: Visit, entry: OperatorEntry): Content {
  const { act, clientId, publicToken, subject } = entry
  if (publicToken !== null) {
    return html`Card ${cardLink(publicToken)}`
  }
  // Of a sign-in, the person is in the column before.
  if (subject === null || subject === clientId) return null
  const [kind = ''] = act.split('.')
  const mayOpen = kind !== 'key' || scopes.has('keys.read') || scopes.has('admin')
  const page = mayOpen ? subjectPages[kind]?.(subject) : undefined
  const isHash = isPersonId(subject) || isUuid(subject)
  const words = isHash ? `${subject.slice(0, 13)}…` : subject
  const name = html`<bdi>${words}</bdi>`
  return page === undefined || subject === 'unknown'
    ? html`<span class="cut" title="${subject}">${name}</span>`
    : html`<a class="cut" href="${page}" title="${subject}">${name}</a>`
}

const outcomeTones: Readonly<Record<string, Tone>> = {
  refused: 'bad',
  failed: 'warn',
}

function renderOutcome({ count, outcome, reason }: OperatorEntry): Content {
  if (outcome === 'done') return 'Done'
  return html`${badge(capitalize(outcome), outcomeTones[outcome] ?? 'plain')}
    ${reason?.replaceAll('_', ' ')}${count > 1 && ` (${count} times)`}`
}

/** Renders entries, one line each. */
export const entryTable = (visit: Visit, entries: readonly OperatorEntry[]): Content =>
  renderTable({
    name: 'Acts of operators',
    columns: listColumns(visit),
    rows: entries,
    empty: html`No act matches. An act is entered within seconds.
      <a href="/console/audit-log">Show all acts</a>`,
    isOneLine: true,
  })

const listColumns = (visit: Visit): readonly Column<OperatorEntry>[] => [
  { title: 'Time', cell: ({ at }) => instantInRow(at) },
  {
    title: 'Act',
    kind: 'name',
    cell: ({ act }) => html`<span class="cut" title="${act}">${nameEntryAct(act)}</span>`,
  },
  {
    title: 'Who',
    cell: ({ clientId, clientName }) =>
      html`<div class="cut">${
        clientId === null ? 'Erased' : renderActor(visit, clientId, clientName)
      }</div>`,
  },
  { title: 'On', cell: (entry) => renderSubject(visit, entry) },
  { title: 'Outcome', cell: renderOutcome },
  { title: '', cell: renderDetails },
]

const renderDetails = ({ details, entry, index, log, requestId }: OperatorEntry): Content =>
  html`<details>
    <summary>Details</summary>
    <dl>
      ${Object.entries(toMembers(details)).map(
        ([name, value]) =>
          html`<dt>${name}</dt>
            <dd>${typeof value === 'string' ? value : JSON.stringify(value)}</dd>`,
      )}
      <dt>Entry</dt><dd>${index} of log ${log}, <code>${entry}</code></dd>
      ${requestId && html`<dt>Request</dt><dd><code>${requestId}</code></dd>`}
    </dl>
    <a href="${path`/console/disclosures/${entry}`}">Receipt</a>
  </details>`
