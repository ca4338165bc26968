import { type EventValues, eventParameters, type NewEvent } from '../events/events.ts'
import { type Claim, type ClaimValues, claimParameters } from '../idempotency/idempotency.ts'

/**
 * Whose card is changed, by what event, and under which claim. An operator's act is on the card of
 * a client, too.
 */
export interface CardAct {
  readonly clientId: string
  readonly event: NewEvent
  /** Null without an idempotency key. */
  readonly claim: Claim | null
}

/** What every change of a card takes. */
export interface CardActValues extends EventValues, ClaimValues {
  readonly clientId: string
  readonly operatorId: string | null
}

/** A card's act as the statements of changes take it. */
export const cardActParameters = ({ claim, clientId, event }: CardAct): CardActValues => ({
  ...eventParameters(event),
  ...claimParameters(claim),
  clientId,
  operatorId: event.operatorId ?? null,
})
