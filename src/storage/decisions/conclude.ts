import type { AskError, Decider, DecisionFacts, DecisionVerdict } from '../../domain/decision.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { ResponseCode } from '../../domain/response-code.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import type { PendingDecision } from './reserve.ts'

/** The state for which a conclusion is composed. If it has changed, the database refuses it. */
export interface ConclusionState {
  /** The answer that the client gave by a call, as JSON; null without one. */
  readonly calledAnswer: string | null
  /** Whether a reversal, or what leaves nothing to hold, came while the client was asked. */
  readonly isReversed: boolean
  /** Whether the key of the request has another answer by now, or was deleted. */
  readonly isTaken: boolean
}

/** How an authorization is answered after its decision. */
export interface NewConclusion extends ConclusionState {
  readonly publicToken: PublicToken
  readonly decisionId: string
  readonly isApproved: boolean
  readonly responseCode: ResponseCode
  /** Null unless a part of the amount is approved. */
  readonly approvedAmount: number | null
  /** Null if nothing is held. */
  readonly heldAmount: number | null
  readonly holdExpiresAt: Date | null
  /** JSON. */
  readonly checks: string
  /** Of the event, as JSON. */
  readonly details: string
  /** From the arrival of the request. */
  readonly durationMs: number
  /** Sealed; null without an idempotency key. */
  readonly answer: Uint8Array | null
  /** The same if the payment that an increment named cannot be raised. */
  readonly flaggedAnswer: Uint8Array | null
  readonly decidedBy: Decider
  readonly verdict: DecisionVerdict
  readonly reason: string | null
  readonly error: AskError | null
  readonly statusCode: number | null
  /** How long the client was asked. */
  readonly decisionMs: number
  readonly requestHash: Uint8Array | null
  readonly answerHash: Uint8Array | null
  /** JSON. */
  readonly metadata: string | null
  /** By the clock of the service. */
  readonly now: Date
}

/** The outcome of a conclusion (database/functions/decisions/conclude-decision.sql). */
type Conclusion =
  | { readonly outcome: 'unknown' }
  | ({ readonly outcome: 'stale' } & ConclusionState)
  | {
      readonly outcome: 'concluded' | 'known'
      readonly responseCode: ResponseCode
      readonly approvedAmount: number | null
      readonly paymentId: string | null
    }

interface ConclusionRow {
  readonly outcome: Conclusion['outcome']
  readonly calledAnswer: string | null
  readonly isReversed: boolean | null
  readonly isTaken: boolean | null
  readonly responseCode: ResponseCode | null
  readonly approvedAmount: number | null
  readonly paymentId: string | null
}

const declare = loadStatements(import.meta.url)

const conclude = declare<NewConclusion, ConclusionRow>('conclude_decision')

/** Concludes a decision, unless it is concluded or its state has changed. */
export async function concludeDecision(
  connection: Connection,
  conclusion: NewConclusion,
): Promise<Conclusion> {
  const row = firstRow(await conclude(connection, conclusion))
  if (!row) throw new Error('A decision was not concluded.')
  const { approvedAmount, calledAnswer, isReversed, isTaken, outcome, paymentId } = row
  if (outcome === 'unknown') return { outcome }
  if (outcome === 'stale') {
    return { outcome, calledAnswer, isReversed: isReversed === true, isTaken: isTaken === true }
  }
  if (row.responseCode === null) throw new Error('A concluded decision has no response code.')
  return { outcome, responseCode: row.responseCode, approvedAmount, paymentId }
}

/** A decision that waits for an answer. */
export interface WaitingDecision {
  readonly publicToken: PublicToken
  readonly decisionId: string
  /** Of the card. */
  readonly clientId: string
  readonly sequence: number
  readonly facts: DecisionFacts
  readonly pending: PendingDecision
  /** 0: for all products of the client. */
  readonly endpointProductId: number
  readonly endpointVersion: number
  readonly heldAmount: number | null
  readonly heldCurrencyCode: string | null
  readonly deadline: Date
  readonly calledAnswer: string | null
}

type WaitingRow = Omit<WaitingDecision, 'facts' | 'pending'> & {
  readonly facts: string
  readonly pending: string
}

const parseWaiting = ({ facts, pending, ...row }: WaitingRow): WaitingDecision => ({
  ...row,
  facts: JSON.parse(facts) as DecisionFacts,
  pending: JSON.parse(pending) as PendingDecision,
})

/** The place of a waiting decision in the order in which they become overdue. */
export type WaitingPosition = Pick<WaitingDecision, 'deadline' | 'decisionId'>

const firstPosition: WaitingPosition = {
  deadline: new Date(0),
  decisionId: '00000000-0000-0000-0000-000000000000',
}

interface OverdueSelection {
  readonly marginMs: number
  readonly afterDeadline: Date
  readonly afterId: string
  readonly limit: number
}

const selectOverdue = declare<OverdueSelection, WaitingRow>('list_overdue_decisions')

/**
 * Lists the next decisions whose deadline passed longer ago than the margin.
 * @param after the last one that the caller has seen; null for the first ones.
 */
export async function listOverdueDecisions(
  connection: Connection,
  marginMs: number,
  after: WaitingPosition | null,
  limit: number,
): Promise<WaitingDecision[]> {
  const { deadline: afterDeadline, decisionId: afterId } = after ?? firstPosition
  const selection = { marginMs, afterDeadline, afterId, limit }
  return (await selectOverdue(connection, selection)).map(parseWaiting)
}

const selectPending = declare<{ publicToken: PublicToken; claimId: string }, WaitingRow>(
  'find_pending_decision',
)

/** Returns the decision that the request with this claim waits for, or null. */
export const findPendingDecision = async (
  connection: Connection,
  publicToken: PublicToken,
  claimId: string,
): Promise<WaitingDecision | null> => {
  const row = firstRow(await selectPending(connection, { publicToken, claimId }))
  return row && parseWaiting(row)
}
