import Type, { type Static } from 'typebox'
import { isUuid } from '../../domain/identifiers.ts'
import { formatMoney } from '../../domain/money.ts'
import { holdsPan, parsePan } from '../../domain/pan.ts'
import { isApprovalCode } from '../../domain/response-code.ts'
import { describeTransaction } from '../../domain/transaction.ts'
import { type Content, html } from '../../listeners/http/html.ts'
import { FoundCardSchema } from '../../listeners/private/schemas/cards.ts'
import { toProblem } from '../console.ts'
import { badge, cursorAfter, instant, statusBadge } from '../desk-parts.ts'
import { type Act, formFields, path, type Screen, type Visit } from '../screen.ts'
import { authorizationPath, merchantName, paymentPath, stateBadge } from './payment-parts.ts'

const FoundCardsSchema = Type.Array(FoundCardSchema)
type FoundCard = Static<typeof FoundCardSchema>

/** A possible meaning of a text: the member of the search, and its name for people. */
interface Reading {
  readonly member: string
  readonly name: string
  readonly value: string
}

/**
 * Twelve digits are a retrieval reference number (ISO 8583, field 37), even where they might be a
 * card number as well.
 */
const isRetrievalReference = (text: string): boolean => /^[0-9]{12}$/.test(text)

const forms: readonly (Pick<Reading, 'member' | 'name'> & { isFor(text: string): boolean })[] = [
  { member: 'publicToken', name: 'token', isFor: (text) => /^[1-9][0-9]{9}$/.test(text) },
  { member: 'panLastFour', name: 'last four digits', isFor: (text) => /^[0-9]{4}$/.test(text) },
  {
    member: 'authorizationReference',
    name: 'authorization reference',
    isFor: (text) =>
      isRetrievalReference(text) || (/^[A-Za-z0-9-]{1,35}$/.test(text) && !holdsPan(text)),
  },
  {
    member: 'paymentId',
    name: 'payment id',
    isFor: (text) => isUuid(text),
  },
  {
    member: 'networkTransactionId',
    name: 'transaction id of the network',
    isFor: (text) => /^[A-Za-z0-9]{1,15}$/.test(text),
  },
  {
    // No reference contains a card number: such a reference is refused at creation.
    member: 'customerReference',
    name: 'customer reference',
    isFor: (text) => /^.{1,25}$/u.test(text) && !holdsPan(text),
  },
]

/**
 * Lists all meanings of a text, each of which is searched: four digits may also be a client's own
 * reference. A card number is recognized by its digits and only searched as such, unless it may be
 * a retrieval reference number.
 */
function listReadings(text: string): Reading[] {
  const digits = text.replaceAll(/[ -]/g, '')
  const isPan = parsePan(digits) !== null
  const readings = forms
    .filter(({ isFor }) => isFor(text) && (!isPan || isRetrievalReference(text)))
    .map(({ member, name }) => ({ member, name, value: text }))
  return isPan ? [{ member: 'pan', name: 'card number', value: digits }, ...readings] : readings
}

const access = 'support.read'
const title = 'Search'

/** @param text the content of the field, never a possible card number. */
const searchForm = (visit: Visit, text: string): Content =>
  html`<form method="post" action="/console/search" class="search" role="search">
    ${formFields(visit)}
    <label for="find">Token, last four digits, customer reference, authorization reference, payment
      id, transaction id of the network, or a whole card number</label>
    <div class="row">
      <input id="find" name="text" type="search" required maxlength="64" autocomplete="off"
        spellcheck="false" value="${text}">
      <button>Search</button>
    </div>
  </form>`

export const searchScreen: Screen = {
  path: '/console/search',
  access,
  navigation: title,
  show: async (visit) => ({
    title,
    body: html`${searchForm(visit, '')}
      <p class="hint">
        Cards of every client are searched. A card number is compared by its fingerprint. It
        does not appear in an address, a log or a page. Each search by card number is recorded with
        your name, and limited.
      </p>`,
  }),
}

/**
 * Searches. Posted, because the text may be a card number, and answered directly, without a URL of
 * its own.
 */
export const searchAct: Act = {
  path: '/console/search',
  access,
  readsOnly: true,
  async perform(visit, { cursor, member, text: given = '' }) {
    const text = given.trim()
    const all = listReadings(text).filter((each) => !member || each.member === member)
    // The route would refuse it; the other meanings are searched.
    const mayNotSearchPan =
      !visit.scopes.has('support.pan') && all.some((each) => each.member === 'pan')
    const readings = mayNotSearchPan ? all.filter((each) => each.member !== 'pan') : all
    const results = await Promise.all(
      readings.map(async (reading) => ({ reading, ...(await find(visit, reading, cursor)) })),
    )
    const found = results.filter(({ cards }) => cards.length > 0)
    const [first] = found
    const isOne = found.length === 1 && first?.cards.length === 1 && !cursor
    if (isOne && ['publicToken', 'pan'].includes(first.reading.member)) {
      return { to: path`/console/cards/${first.cards[0]?.publicToken ?? ''}` }
    }
    const payment = isOne && first.cards[0]?.payment
    if (payment) {
      return { to: paymentPath(first.cards[0]?.publicToken ?? '', payment.paymentId) }
    }
    const shown = mayHoldPan(text) ? '' : text
    const isNothingFound = found.length === 0 && (readings.length > 0 || !mayNotSearchPan)
    return {
      title,
      body: html`${searchForm(visit, shown)}
        <div role="status">
          ${mayNotSearchPan && panRefused}
          ${isNothingFound && nothingFound(readings)}
        </div>
        ${found.map(({ cards, next, reading }) => renderResults(visit, reading, cards, next))}`,
    }
  },
}

/** Whether a text has twelve digits or more, in any notation; no page contains such a text. */
const mayHoldPan = (text: string): boolean => (text.match(/[0-9]/g) ?? []).length >= 12

async function find(
  visit: Visit,
  { member, value }: Reading,
  cursor: string | undefined,
): Promise<{ cards: Static<typeof FoundCardsSchema>; next: string | null }> {
  const query = cursor ? path`?limit=100&cursor=${cursor}` : '?limit=100'
  const answer = await visit.call('POST', `/cards/search${query}`, { [member]: value })
  if (answer.status !== 200) throw toProblem(answer)
  return { cards: answer.body as FoundCard[], next: cursorAfter(answer) }
}

const panRefused = html`<p class="empty">
  Your role cannot search by card number. Ask for the token or a reference, or ask a colleague with
  a support role.
</p>`

const nothingFound = (readings: readonly Reading[]): Content =>
  readings.length === 0
    ? html`<p class="empty">
        The text is not a token, a reference or a card number. Check the digits: a token has 10, a
        card number has 12 to 19, and its last one is a check digit.
      </p>`
    : html`<p class="empty">
        No card has this ${readings.map(({ name }) => name).join(' or ')}. References must match
        completely. Ask for another of these, or for the whole card number.
      </p>`

const renderResults = (
  visit: Visit,
  { member, name, value }: Reading,
  cards: readonly FoundCard[],
  next: string | null,
): Content =>
  html`<h2>By ${name}</h2>
    <div class="scroll">
      <table>
        <thead><tr>
          <th scope="col">Card</th>
          <th scope="col">Token</th>
          <th scope="col">Status</th>
          ${member === 'authorizationReference' && html`<th scope="col">Authorization</th>`}
          ${member === 'networkTransactionId' && html`<th scope="col">Payment</th>`}
          <th scope="col">Client</th>
          <th scope="col">Customer reference</th>
          <th scope="col">Expires</th>
          <th scope="col">Created</th>
        </tr></thead>
        <tbody>${cards.map(resultRow)}</tbody>
      </table>
    </div>
    ${
      next !== null &&
      html`<form method="post" action="/console/search">
        ${formFields(visit)}
        <input type="hidden" name="text" value="${value}">
        <input type="hidden" name="member" value="${member}">
        <input type="hidden" name="cursor" value="${next}">
        <button>Older</button>
      </form>`
    }`

const resultRow = ({ authorization, payment, ...card }: FoundCard): Content =>
  html`<tr>
    <th scope="row"><a href="${path`/console/cards/${card.publicToken}`}">${card.maskedPan}</a></th>
    <td>${card.publicToken}</td>
    <td>${statusBadge(card)}</td>
    ${authorization && authorizationCell(card.publicToken, authorization)}
    ${payment && paymentCell(card.publicToken, payment)}
    <td>${card.clientId}</td>
    <td>${card.customerReference}</td>
    <td>${card.expiryDate.slice(0, 7)}</td>
    <td>${instant(card.createdAt)}</td>
  </tr>`

function authorizationCell(
  publicToken: string,
  authorization: NonNullable<FoundCard['authorization']>,
): Content {
  const { advice, at, authorizationId, declineReason, reference, responseCode } = authorization
  const transaction = describeTransaction(authorization)
  const address = authorizationPath(publicToken, authorizationId)
  return html`<td>
    <a href="${address}">${reference}</a>
    ${badge(responseCode, isApprovalCode(responseCode) ? 'good' : 'bad')} ${instant(at)}
    ${transaction && html`<p>${transaction}</p>`}
    ${declineReason && html`<p class="fine"><code>${declineReason}</code> ${advice}</p>`}
  </td>`
}

function paymentCell(publicToken: string, payment: NonNullable<FoundCard['payment']>): Content {
  const { currency, merchant, open, openedAt, paymentId, state } = payment
  return html`<td>
    <a href="${paymentPath(publicToken, paymentId)}">${merchantName(merchant)}</a>
    ${stateBadge(state)} ${instant(openedAt)}
    <p>Open ${formatMoney({ amount: open, currency })}</p>
  </td>`
}
