import type { AuthorizationCheck } from '../../domain/authorization-check.ts'
import type {
  DecisionEndpoint,
  DecisionFacts,
  DecisionFormat,
  Fallback,
} from '../../domain/decision.ts'
import type { Increment } from '../authorizations/settle.ts'
import { type Claim, claimParameters } from '../idempotency/idempotency.ts'
import { transactionParameters } from '../links/transactions.ts'

/** The input of a conclusion from the approval that waits for it, as in `decision.pending`. */
export interface PendingDecision {
  /** The answer to the network that approves what was reserved. */
  readonly answer: Readonly<Record<string, unknown>>
  /** The checks, and the details of the event, of the same approval. */
  readonly checks: readonly AuthorizationCheck[]
  readonly details: Readonly<Record<string, unknown>>
  /** The part that the limits left of the amount; null: all of it. */
  readonly approvedAmount: number | null
  /** RFC 3339; null if an approval holds nothing. */
  readonly holdExpiresAt: string | null
  readonly increment: Increment | null
  readonly fallback: Fallback
  /** Of the request, which any process can compose again. */
  readonly format: DecisionFormat
  /** When the request arrived, in milliseconds since 1970. */
  readonly arrivedAtMs: number
  /** The claim of the request's key; null without one. Hashes are separated by commas. */
  readonly claim: {
    readonly clientId: string
    readonly claimId: string
    readonly keyHashes: string
  } | null
  /** Of the transaction that the network began; null if it began none. */
  readonly transactionHashes: string | null
}

/** An approval to be decided by the card's client. */
export interface NewReservation {
  readonly decisionId: string
  readonly endpoint: DecisionEndpoint
  readonly facts: DecisionFacts
  readonly deadline: Date
  readonly pending: Omit<
    PendingDecision,
    'checks' | 'details' | 'approvedAmount' | 'claim' | 'transactionHashes'
  >
  readonly claim: Omit<Claim, 'answer'> | null
}

/** Composes what database/functions/decisions/reserve-decision.sql reads. */
export function toReservation({
  claim,
  deadline,
  decisionId,
  endpoint,
  facts,
  pending,
}: NewReservation): string {
  const { claimId, claimantId, keyHashes } = claimParameters(claim && { ...claim, answer: null })
  const { transactionHashes } = transactionParameters(claim?.original ?? null)
  return JSON.stringify({
    decisionId,
    endpointProductId: endpoint.productId ?? 0,
    endpointVersion: endpoint.version,
    facts: JSON.stringify(facts),
    deadline: deadline.toISOString(),
    pending: {
      ...pending,
      claim: claim && { clientId: claimantId, claimId, keyHashes },
      transactionHashes,
    },
  })
}

/** A reserved approval, as database/functions/decisions/reserve-decision.sql returns it. */
export interface ReservedHold {
  readonly sequence: number
  /** Null if an approval holds nothing. */
  readonly heldAmount: number | null
  readonly pending: PendingDecision
}

export const parseReserved = (text: string): ReservedHold => JSON.parse(text) as ReservedHold
