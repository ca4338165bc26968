import { type EventValues, eventParameters, type NewEvent } from '../events/events.ts'
import { type Claim, type ClaimValues, claimParameters } from '../idempotency/idempotency.ts'

/**
 * The client, the event and the claim of a change of a card. An operator's act names the card's
 * client, too.
 */
export interface CardAct {
  readonly clientId: string
  readonly event: NewEvent
  /** Null without an idempotency key. */
  readonly claim: Claim | null
}

/** The parameters of every change of a card. */
export interface CardActValues extends EventValues, ClaimValues {
  readonly clientId: string
  readonly operatorId: string | null
}

/** Converts a card's act to the parameters of a change. */
export const cardActParameters = ({ claim, clientId, event }: CardAct): CardActValues => ({
  ...eventParameters(event),
  ...claimParameters(claim),
  clientId,
  operatorId: event.operatorId ?? null,
})
