import { callRelay } from '../../../packages/card-element/call-relay.ts'
import { make } from '../../../packages/card-element/field.ts'
import { byId, readMeta } from '../../../web/elements.ts'
import type { Exchange } from '../relay/relay.ts'

/** Reads the relay's journal again and shows it. */
export async function refreshRelayPanel(): Promise<void> {
  const journal = byId('journal', HTMLOListElement)
  const exchanges = await readJournal()
  byId('relay-compare', HTMLElement).replaceChildren(...comparisons(exchanges))
  journal.replaceChildren(...groupReads(exchanges).map(createGroup))
}

/** Compares the device's data in clear with what the relay received: the newest of each kind. */
function comparisons(exchanges: readonly Exchange[]): HTMLElement[] {
  const revealed = exchanges.find(
    ({ path, status }) => path.endsWith('/encrypted') && status === 200,
  )
  const chosen = exchanges.find(({ path, sent }) => path.endsWith('/pin') && sent !== '')
  const found = [
    ...(revealed ? [compare(cardWords(revealed), member(revealed.received, 'jwe'))] : []),
    ...(chosen ? [compare('the PIN that you typed', member(chosen.sent, 'encryptedPin'))] : []),
  ]
  return found.length > 0
    ? found
    : [make('p', { class: 'hint' }, 'Show the details of your card, and see here what passed by.')]
}

const cardWords = ({ sent }: Exchange): string =>
  `the number, expiry${sent.includes('"includePin":true') ? ', CVV and PIN' : ' and CVV'} on ` +
  'the card'

const compare = (onDevice: string, ciphertext: string): HTMLElement =>
  make(
    'dl',
    { class: 'compare' },
    make('dt', {}, 'This device saw'),
    make('dd', {}, onDevice),
    make('dt', {}, 'The relay saw'),
    make('dd', { class: 'cipher' }, ciphertext),
  )

/** Reads of status follow every act: those in a row are one group. */
function groupReads(exchanges: readonly Exchange[]): readonly Exchange[][] {
  const groups: Exchange[][] = []
  for (const exchange of exchanges) {
    const latest = groups.at(-1)
    if (exchange.method === 'GET' && latest?.[0]?.method === 'GET') latest.push(exchange)
    else groups.push([exchange])
  }
  return groups
}

function createGroup(group: readonly Exchange[]): HTMLElement {
  const [first] = group
  if (first && first.method !== 'GET') return createEntry(first)
  const words = group.length === 1 ? '1 read' : `${group.length} reads`
  return make(
    'li',
    { class: 'reads' },
    make(
      'details',
      {},
      make('summary', {}, make('span', {}, words)),
      make('ol', {}, ...group.map(createEntry)),
    ),
  )
}

function createEntry({ at, method, path, received, sent, status }: Exchange): HTMLElement {
  const isSealed = /"(jwe|encryptedPin)"/.test(sent + received)
  const summary = make(
    'summary',
    {},
    make('span', {}, `${method} ${path.replace(/^\/thr\/[^/]+/, '')}`),
    ...(isSealed ? [make('span', { class: 'sealed' }, 'sealed')] : []),
    make('span', {}, String(status)),
  )
  const time = new Date(at).toLocaleTimeString()
  const bodies = [
    make('p', { class: 'hint' }, `${time}, sent`),
    make('pre', {}, sent === '' ? 'no body' : pretty(sent)),
    make('p', { class: 'hint' }, 'answered'),
    make('pre', {}, received === '' ? 'no body' : pretty(received)),
  ]
  return make('li', {}, make('details', {}, summary, ...bodies))
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function member(text: string, name: string): string {
  try {
    return String((JSON.parse(text) as Readonly<Record<string, unknown>>)[name])
  } catch {
    return text
  }
}

export interface Product {
  readonly productId: number
  readonly productName: string
  readonly schemeName: string
  readonly pinLength: number
  readonly pinRevealable: boolean
  readonly pinTryLimit: number
  readonly cvvTryLimit: number
}

export interface Card {
  readonly publicToken: string
  readonly cardProduct: number
  readonly embossName: string
  readonly maskedPan: string
}

export interface TryStatus {
  readonly status: 'Unblocked' | 'Blocked'
  readonly remainingTries: number
}

export interface Attempt {
  readonly at: string
  readonly kind: 'pin' | 'cvv'
  readonly result: 'match' | 'mismatch' | 'unresolved'
  readonly remainingTries: number
}

export interface Purchase {
  readonly approved: boolean
  readonly responseCode: string
  readonly pin?: { readonly remainingTries: number }
  readonly cvv?: { readonly remainingTries: number }
}

const base = readMeta('base')
const relayUrl = (path: string): string => `${base}/relay${path}`

// Answers of the page's own server are trusted, and shown as text only.
const read = async <Answer>(path: string): Promise<Answer> =>
  (await callRelay({ method: 'GET', url: relayUrl(path) })) as Answer

const send = async <Answer>(path: string, body?: unknown): Promise<Answer> => {
  const headers = { 'idempotency-key': crypto.randomUUID() }
  return (await callRelay({ method: 'POST', url: relayUrl(path), body, headers })) as Answer
}

export const listProducts = () => read<readonly Product[]>('/products')
export const listCards = () => read<readonly Card[]>('/cards')
export const createCard = (card: { cardProduct: number; firstName: string; lastName: string }) =>
  send<Card>('/cards', card)
export const readPinStatus = (token: string) => read<TryStatus>(`/cards/${token}/pin-status`)
export const readCvvStatus = (token: string) => read<TryStatus>(`/cards/${token}/cvv-status`)
export const listAttempts = (token: string) => read<readonly Attempt[]>(`/cards/${token}/attempts`)
export const setPin = (token: string, sealed: { readonly encryptedPin: string }) =>
  send<null>(`/cards/${token}/pin`, sealed)
export const unblock = (token: string, kind: 'pin' | 'cvv') =>
  send<null>(`/cards/${token}/unblock-${kind}`)
const readJournal = () => read<readonly Exchange[]>('/journal')
export const encryptedUrl = (token: string) => relayUrl(`/cards/${token}/encrypted`)
export const pinUrl = (token: string) => relayUrl(`/cards/${token}/pin`)

/** Sends a payment to the shop, not through the relay. */
export const pay = async (publicToken: string, shown: { pin: string } | { cvv: string }) =>
  (await callRelay({
    method: 'POST',
    url: `${base}/shop/purchases`,
    body: { publicToken, ...shown },
  })) as Purchase
