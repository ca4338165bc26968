/**
 * Calls Pinfold from a client system, in Node.js 20.19 and later and in any runtime with `fetch`.
 *
 * ```ts
 * const pinfold = createPinfold({ baseUrl: 'https://cards.example', clientId, clientSecret })
 * const card = await pinfold.cards.create({
 *   cardType: 'Virtual',
 *   cardProduct: 1001,
 *   cardHolder,
 *   address,
 * })
 * const status = await pinfold.pins.unblock(card.publicToken)
 * ```
 */
export {
  CallFailed,
  type CallFailedCode,
  PinfoldError,
  Problem,
  type ProblemError,
} from './errors.ts'
export type * from './models.ts'
export type { PinfoldOptions, PrivateJwk } from './options.ts'
export { createPinfold, type Pinfold } from './pinfold.ts'
export * from './problems.ts'
export type { EndpointQuery } from './resources/decision-endpoint.ts'
export type { StreamedDecision } from './resources/decisions.ts'
export type { FollowQuery, ListEvents } from './resources/events.ts'
export { RevealedPin } from './resources/pins.ts'
export type { FetchedReceipt, ReceiptOptions } from './resources/receipts.ts'
export type {
  AnsweredChipTransaction,
  StartedChipTransaction,
  VirtualChip,
} from './resources/virtual-chips.ts'
export type { ChangeOptions, Listing, Page } from './transport/calls.ts'
export type { FollowOptions } from './transport/event-stream.ts'
export type { AnswerHead, CallOptions } from './transport/transport.ts'
