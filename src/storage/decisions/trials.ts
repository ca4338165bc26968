import type {
  AskOutcome,
  DecisionEndpoint,
  DecisionFacts,
  DecisionPurpose,
  ReservedDecision,
} from '../../domain/decision.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { Money } from '../../domain/money.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import type { DecisionKey } from './calls.ts'

const declare = loadStatements(import.meta.url)

/** A request that decides nothing. */
interface NewTrial {
  /** A version 7 UUID. */
  readonly decisionId: string
  readonly purpose: Exclude<DecisionPurpose, 'authorize'>
  readonly endpoint: Pick<DecisionEndpoint, 'productId' | 'version' | 'timeoutMs'>
  readonly facts: DecisionFacts
  /** The amount that an approval would hold. */
  readonly hold: Money | null
}

interface TrialValues extends DecisionKey {
  readonly publicToken: PublicToken
  readonly authorizationId: string
  readonly purpose: DecisionPurpose
  readonly endpointProductId: number
  readonly endpointVersion: number
  readonly facts: string
  readonly heldAmount: number | null
  readonly heldCurrencyCode: string | null
  readonly deadline: Date
}

const insertTrial = declare<TrialValues, { sequence: number | null }>('begin_decision_trial')

/**
 * Records a trial, before its client is asked: so any process may send it on a stream, and its
 * answer may come by a call. The time of the answer begins now.
 * @returns null if the card does not exist.
 */
export async function beginTrial(
  connection: Connection,
  { decisionId, endpoint, facts, hold, purpose }: NewTrial,
): Promise<ReservedDecision | null> {
  const deadline = new Date(Date.now() + endpoint.timeoutMs)
  const rows = await insertTrial(connection, {
    publicToken: facts.card.publicToken,
    decisionId,
    authorizationId: facts.authorizationId,
    purpose,
    endpointProductId: endpoint.productId ?? 0,
    endpointVersion: endpoint.version,
    facts: JSON.stringify(facts),
    heldAmount: hold?.amount ?? null,
    heldCurrencyCode: hold?.currency ?? null,
    deadline,
  })
  const sequence = firstRow(rows)?.sequence ?? null
  return sequence === null ? null : { decisionId, sequence, hold, deadline }
}

interface TrialOutcome extends DecisionKey {
  readonly verdict: string | null
  readonly approvedAmount: number | null
  readonly reason: string | null
  readonly responseCode: string | null
  readonly error: string | null
  readonly statusCode: number | null
  readonly durationMs: number
  readonly requestHash: Uint8Array | null
  readonly answerHash: Uint8Array | null
  readonly metadata: string | null
}

const updateTrial = declare<TrialOutcome>('conclude_decision_trial')

/** Completes the record of a trial. */
export async function concludeTrial(
  connection: Connection,
  { decisionId, publicToken }: DecisionKey,
  { answer, answerHash, durationMs, error, requestHash, statusCode }: AskOutcome,
): Promise<void> {
  await updateTrial(connection, {
    publicToken,
    decisionId,
    verdict: answer?.decision ?? null,
    approvedAmount: answer?.amount ?? null,
    reason: answer?.reason ?? null,
    responseCode: answer?.responseCode ?? null,
    error,
    statusCode,
    durationMs: Math.round(durationMs),
    requestHash,
    answerHash,
    metadata: answer?.metadata ?? null,
  })
}
