import type { NewEvent } from '../events/events.ts'
import { type Claim, type ClaimValues, claimParameters } from '../idempotency/idempotency.ts'

/** Whose card is changed, by what event, and under which claim. An operator's act is on the card of a client, too. */
export interface CardAct {
  readonly clientId: string
  readonly event: NewEvent
  /** Null without an idempotency key. */
  readonly claim: Claim | null
}

/** What every change of a card takes. */
export interface CardActValues extends ClaimValues {
  readonly publicToken: string
  readonly clientId: string
  readonly eventType: string
  readonly requestId: string | null
  readonly details: string
  readonly note: Uint8Array | null
  readonly operatorId: string | null
}

/** A card's act as the statements of changes take it. */
export const cardActParameters = ({ claim, clientId, event }: CardAct): CardActValues => ({
  publicToken: event.publicToken,
  clientId,
  eventType: event.type,
  requestId: event.requestId,
  details: JSON.stringify(event.details),
  note: event.note,
  operatorId: event.operatorId ?? null,
  ...claimParameters(claim),
})
