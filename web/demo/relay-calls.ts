import { callRelay } from '../pinfold-card/call-relay.ts'
import type { Exchange } from '../relay/journal.ts'
import { metaOf } from './elements.ts'

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

const base = metaOf('base')
const relayUrl = (path: string): string => `${base}/relay${path}`

// What comes from the page's own server is taken by its word here: it is a demo, and shows no more of
// it than text.
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
export const readJournal = () => read<readonly Exchange[]>('/journal')
export const encryptedUrl = (token: string) => relayUrl(`/cards/${token}/encrypted`)

/** Goes to the shop, past the relay. */
export const pay = async (publicToken: string, shown: { pin: string } | { cvv: string }) =>
  (await callRelay({
    method: 'POST',
    url: `${base}/shop/purchases`,
    body: { publicToken, ...shown },
  })) as Purchase
