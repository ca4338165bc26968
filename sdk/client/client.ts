/**
 * A client system's way to Pinfold, in Node.js 20.3 and later and in any runtime with `fetch`.
 *
 * ```ts
 * const pinfold = createPinfold({ baseUrl: 'https://cards.example', clientId, clientSecret })
 * const card = await pinfold.cards.create({ cardType: 'Virtual', cardProduct: 1001, cardHolder, address })
 * const status = await pinfold.pins.unblock(card.publicToken)
 * ```
 */
export { CallFailed, type CallFailedCode } from './errors/call-failed.ts'
export { PinfoldError } from './errors/pinfold-error.ts'
export { Problem, type ProblemError } from './errors/problem.ts'
export * from './errors/problems.ts'
export type { FollowOptions, FollowQuery } from './events/follow-events.ts'
export type * from './models.ts'
export type { PinfoldOptions } from './options.ts'
export { createPinfold, type Pinfold } from './pinfold.ts'
export type { ListEvents } from './resources/events.ts'
export { RevealedPin } from './resources/revealed-pin.ts'
export type { PrivateJwk } from './token/private-jwk.ts'
export type { ChangeOptions } from './transport/calls.ts'
export type { Listing, Page } from './transport/listing.ts'
export type { CallOptions } from './transport/transport.ts'
