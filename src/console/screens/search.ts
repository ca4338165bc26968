import { isUuid } from '../../domain/identifiers.ts'
import { holdsPan, parsePan } from '../../domain/pan.ts'
import { type Content, html } from '../../listeners/http/html.ts'
import { hasDigitsOfPan } from '../address.ts'
import { cardPath, paymentPath } from '../card-links.ts'
import { cursorAfter, parseAnswer } from '../listener-answers.ts'
import {
  type Act,
  formFields,
  type Lead,
  type Page,
  path,
  type Screen,
  type Visit,
} from '../screen.ts'
import { type FoundCard, FoundCardsSchema, resultTable } from './search-results.ts'

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

/** Whether a text may be in an address: it cannot be a card number, nor one with a wrong digit. */
const isAddressable = (text: string): boolean =>
  isUuid(text) || !hasDigitsOfPan(text) || (isRetrievalReference(text) && parsePan(text) === null)

/**
 * The form is posted, because the text may be a card number. Every other text then gets an address.
 * @param text the content of the field, never a possible card number.
 */
const searchForm = (visit: Visit, text: string): Content =>
  html`<form method="post" action="/console/search" class="search" role="search">
    ${formFields(visit)}
    <label for="find">Find a card</label>
    <div class="row">
      <input id="find" name="text" type="search" required maxlength="64" autocomplete="off"
        spellcheck="false" value="${text}" aria-describedby="find-by">
      <button>Search</button>
    </div>
    <p class="hint" id="find-by">
      By token, last four digits, customer reference, authorization reference, payment id,
      transaction id of the network, or a whole card number.
    </p>
  </form>`

export const searchScreen: Screen = {
  path: '/console/search',
  access,
  navigation: title,
  async show(visit) {
    const { cursor, member, text = '' } = visit.query
    if (text === '') return { title, body: html`${searchForm(visit, '')}${panHint}` }
    if (!isAddressable(text)) {
      return { title, status: 422, body: html`${searchForm(visit, '')}${panInAddress}` }
    }
    return resultsPage(visit, text, await search(visit, { text, member, cursor }))
  },
}

const panHint = html`<p class="hint">
  Cards of every client are searched. A card number is compared by its fingerprint. It does not
  appear in an address, a log or a page. Each search by card number is recorded with your name, and
  limited.
</p>`

const panInAddress = html`<p class="notice bad" role="alert">
  An address must not contain a card number. No search was made. Enter the number in the field.
</p>`

/** The request of a search. */
interface Asked {
  readonly text: string
  readonly member: string | undefined
  readonly cursor: string | undefined
}

/** The possible meanings of a text, and the cards of each meaning that has cards. */
interface Found {
  readonly readings: readonly Reading[]
  readonly results: readonly {
    readonly reading: Reading
    readonly cards: readonly FoundCard[]
    readonly next: string | null
  }[]
  /** Whether the role of the person may not search by the card number that the text may be. */
  readonly isPanRefused: boolean
}

async function search(visit: Visit, { cursor, member, text }: Asked): Promise<Found> {
  const all = listReadings(text).filter((each) => !member || each.member === member)
  // The route would refuse it; the other meanings are searched.
  const isPanRefused = !visit.scopes.has('support.pan') && all.some((each) => each.member === 'pan')
  const readings = isPanRefused ? all.filter((each) => each.member !== 'pan') : all
  const results = await Promise.all(
    readings.map(async (reading) => ({ reading, ...(await find(visit, reading, cursor)) })),
  )
  return { readings, isPanRefused, results: results.filter(({ cards }) => cards.length > 0) }
}

/**
 * Searches, and leads to the only card or payment, or to the address of the results. A text that
 * may be a card number has no address: its results, if several, are the answer itself.
 */
export const searchAct: Act = {
  path: '/console/search',
  access,
  readsOnly: true,
  async perform(visit, { cursor, member, text = '' }) {
    const found = await search(visit, { text, member, cursor })
    const only = cursor ? null : leadToOnly(found)
    if (only) return only
    if (isAddressable(text)) return { to: path`/console/search?text=${text}` }
    if (found.results.length > 0) return resultsPage(visit, '', found)
    return { to: '/console/search', notice: { lines: explainNothing(found) } }
  },
}

/** Leads to the card of a token or a card number, or to a payment, if it is all that was found. */
function leadToOnly({ results: [first, ...others] }: Found): Lead | null {
  const [card, ...more] = first?.cards ?? []
  if (!first || !card || others.length + more.length > 0) return null
  if (['publicToken', 'pan'].includes(first.reading.member)) {
    return { to: cardPath(card.publicToken) }
  }
  return card.payment ? { to: paymentPath(card.publicToken, card.payment.paymentId) } : null
}

function resultsPage(visit: Visit, text: string, found: Found): Page {
  const { isPanRefused, results } = found
  const isNothing = results.length === 0
  return {
    title,
    body: html`${searchForm(visit, text)}
      <div role="status">${
        (isNothing || isPanRefused) &&
        explainNothing(found).map((line) => html`<p class="empty">${line}</p>`)
      }</div>
      ${results.map(
        ({ cards, next, reading }) =>
          html`<h2>By ${reading.name}</h2>
            ${resultTable(visit, reading.member, cards)}
            ${next !== null && olderCards(visit, reading, next)}`,
      )}`,
  }
}

/** Leads to the next page of a meaning: by an address, unless the text can have none. */
const olderCards = (visit: Visit, { member, value }: Reading, next: string): Content =>
  isAddressable(value)
    ? html`<nav class="pages" aria-label="Pages">
        <a href="${path`/console/search?text=${value}&member=${member}&cursor=${next}`}"
          rel="next">Older</a>
      </nav>`
    : html`<form method="post" action="/console/search">
        ${formFields(visit)}
        <input type="hidden" name="text" value="${value}">
        <input type="hidden" name="member" value="${member}">
        <input type="hidden" name="cursor" value="${next}">
        <button class="quiet">Older</button>
      </form>`

async function find(
  visit: Visit,
  { member, value }: Reading,
  cursor: string | undefined,
): Promise<{ cards: FoundCard[]; next: string | null }> {
  const query = cursor ? path`?limit=100&cursor=${cursor}` : '?limit=100'
  const answer = await visit.call('POST', `/cards/search${query}`, { [member]: value })
  return { cards: parseAnswer(answer, FoundCardsSchema), next: cursorAfter(answer) }
}

/** Whether a text that is not searched as a card number has the digits of one, and nothing else. */
const isMistypedPan = ({ value }: Reading): boolean => {
  const digits = value.replaceAll(/[ -]/g, '')
  return /^[0-9]{13,19}$/.test(digits) && parsePan(digits) === null
}

/** Explains, in one sentence a line, why nothing was found and what to do. */
function explainNothing({ isPanRefused, readings, results }: Found): string[] {
  const refused = isPanRefused
    ? [
        'Your role cannot search by card number. Ask for the token or a reference, or ask a ' +
          'colleague with a support role.',
      ]
    : []
  if (results.length > 0) return refused
  if (readings.length > 0) {
    const names = readings.map(({ name }) => name).join(' or ')
    return [
      ...refused,
      ...(readings.some(isMistypedPan)
        ? ['As a card number, it has a wrong digit: its check digit does not match the others.']
        : []),
      `No card has this ${names}. References must match completely. Ask for another of these, or ` +
        'for the whole card number.',
    ]
  }
  return isPanRefused
    ? refused
    : [
        'The text is not a token, a reference or a card number. Check the digits: a token has ' +
          '10, a card number has 12 to 19, and its last one is a check digit.',
      ]
}
