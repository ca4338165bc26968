import Type, { type Static } from 'typebox'
import { describeDecline, describeResponseCode } from '../../domain/decline-words.ts'
import { toMoney } from '../../domain/money.ts'
import { responseCodes } from '../../domain/response-code.ts'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import { FoundAuthorizationSchema } from '../../listeners/private/schemas/all-authorizations.ts'
import { addressFieldRule } from '../address.ts'
import { writeMoney } from '../amounts.ts'
import { authorizationPath, cardLink } from '../card-links.ts'
import { badge, instantInRow, renderActor } from '../desk-parts.ts'
import { option } from '../fields.ts'
import { filterFault, listFiltered } from '../filters.ts'
import { indexNames, type KnownName, listKnownClients, renderKnownNames } from '../known-names.ts'
import { type Column, pages, renderTable } from '../listing.ts'
import { path, type Screen, type Visit } from '../screen.ts'

const FoundSchema = Type.Array(FoundAuthorizationSchema)
type Found = Static<typeof FoundAuthorizationSchema>

/** The authorizations of all cards. */
export const authorizationsScreen: Screen = {
  path: '/console/authorizations',
  access: 'support.read',
  navigation: 'Authorizations',
  async show(visit) {
    const filters = parseFilters(visit)
    const [{ entries, fault, next }, clients] = await Promise.all([
      listFiltered(visit, `/authorizations?${filters}`, FoundAuthorizationSchema, 50),
      listKnownClients(visit),
    ])
    const names = indexNames(clients)
    const isShort = entries.length < 50 && next !== null
    return {
      title: 'Authorizations',
      ...(fault !== null && { status: 422 }),
      body: html`${filterForm(visit, filters, clients)}
        ${filterFault(fault)}
        <live-region id="list" class="authorizations" every="15">
          ${renderTable({
            name: 'Authorizations',
            columns: [
              ...columns,
              {
                title: 'Client',
                cell: ({ clientId }) =>
                  html`<span class="cut">${renderActor(
                    visit,
                    clientId,
                    names.get(clientId),
                  )}</span>`,
              },
              {
                title: 'Reference',
                cell: ({ reference }) => html`<span class="cut"><bdi>${reference}</bdi></span>`,
              },
            ],
            rows: entries,
            empty: adviseOnNone(next),
          })}
        </live-region>
        ${
          isShort &&
          html`<p class="hint">20,000 authorizations were searched. Older ones are on the next
            page.</p>`
        }
        ${pages(visit, next)}`,
    }
  },
}

const adviseOnNone = (next: string | null): string =>
  next === null
    ? 'No authorizations match. Widen the period, or remove a filter.'
    : 'No match among the newest 20,000. Search further back on the next page.'

/** The filters of the address; an empty field of the form excludes nothing. */
function parseFilters({ query }: Visit): URLSearchParams {
  const filters = new URLSearchParams()
  for (const name of ['clientId', 'outcome', 'responseCode', 'declineReason'] as const) {
    if (query[name]) filters.set(name, query[name])
  }
  for (const name of ['from', 'to'] as const) {
    // A field of the browser has neither a zone nor always seconds.
    const [, minute = ''] =
      /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(?::\d\d(?:\.\d+)?)?Z?$/.exec(query[name] ?? '') ?? []
    if (minute) filters.set(name, `${minute}:00Z`)
  }
  return filters
}

function filterForm(
  { query }: Visit,
  filters: URLSearchParams,
  clients: readonly KnownName[],
): Html {
  const moment = (name: string) => (filters.get(name) ?? '').slice(0, 16)
  const codes = responseCodes.filter((code) => code !== '00' && code !== '14')
  return html`<form class="filters narrow" method="get" action="/console/authorizations">
    <label>Answer
      <select name="outcome">
        ${option('', 'Any', query.outcome)}
        ${option('approved', 'Approved', query.outcome)}
        ${option('declined', 'Declined', query.outcome)}
      </select>
    </label>
    <label>Reason
      <select name="responseCode">
        ${option('', 'Any', query.responseCode)}
        ${codes.map((code) => option(code, describeResponseCode(code), query.responseCode))}
      </select>
    </label>
    <label>Client
      <input name="clientId" maxlength="64" autocomplete="off" spellcheck="false"
        list="known-clients" value="${query.clientId ?? ''}" ${addressFieldRule}>
      ${renderKnownNames('known-clients', clients)}
    </label>
    <label>From (UTC)
      <input type="datetime-local" name="from" value="${moment('from')}">
    </label>
    <label>To (UTC)
      <input type="datetime-local" name="to" value="${moment('to')}">
    </label>
    <button>Filter</button>
    ${filters.size > 0 && html`<a href="/console/authorizations">Remove filters</a>`}
  </form>`
}

/** The columns that the list and the strip share. */
const columns: readonly Column<Found>[] = [
  {
    title: 'Time',
    kind: 'name',
    cell: ({ authorizationId, publicToken, requestedAt }) =>
      html`<a href="${authorizationPath(publicToken, authorizationId)}"
        >${instantInRow(requestedAt)}</a>`,
  },
  { title: 'Answer', cell: renderAnswer },
  {
    title: 'Amount',
    kind: 'number',
    look: 'amount',
    cell({ amount, currency }) {
      const money = toMoney(amount, currency)
      return money ? writeMoney(money) : '–'
    },
  },
  {
    title: 'Card',
    cell: ({ publicToken }) => cardLink(publicToken),
  },
  {
    title: 'Merchant',
    cell: ({ merchant }) =>
      html`<span class="cut" title="${merchant?.name}"><bdi>${merchant?.name ?? '–'}</bdi></span>`,
  },
]

/** Renders the answer in words, with the code of a decline. */
function renderAnswer({ approved, declineReason, responseCode }: Found): Html {
  if (responseCode === '00') return badge('Approved', 'good')
  const words = describeDecline(responseCode, declineReason)
  return badge(words, approved ? 'good' : 'bad')
}

/** The authorizations of the strip. */
const stripLength = 8

/** Reads the newest authorizations, of all clients or of one. */
export const loadNewest = (visit: Visit, clientId: string | null): Promise<Found[]> =>
  visit.read(
    `/authorizations?limit=${stripLength}${clientId ? path`&clientId=${clientId}` : ''}`,
    FoundSchema,
  )

/** Renders the newest authorizations in few columns. */
export const renderStrip = (newest: readonly Found[]): Content =>
  renderTable({
    name: 'The last authorizations',
    columns,
    rows: newest,
    empty: 'Authorizations appear here as networks send them.',
  })
