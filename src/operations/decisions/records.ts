import type { Requester } from '../../domain/client.ts'
import type {
  AskError,
  Decider,
  DecisionFacts,
  DecisionPurpose,
  DecisionReason,
  DecisionVerdict,
} from '../../domain/decision.ts'
import { isUuid, type PublicToken } from '../../domain/identifiers.ts'
import type { Money } from '../../domain/money.ts'
import * as stored from '../../storage/decisions/records.ts'
import type { Database } from '../../storage/engine/database.ts'
import { composePinfoldRequest } from './compose-request.ts'
import { toRequest } from './compose-row.ts'
import { decisionNotFound } from './decision-not-found.ts'

interface Records {
  readonly database: Database
}

/** The content of an answer, as its client reads it. */
interface SaidAnswer {
  readonly decision: DecisionVerdict
  readonly amount?: number
  readonly reason?: string
  readonly responseCode?: string
}

/** A decision as its client reads it. Members without a value are left out. */
export interface RecordedDecision {
  readonly decisionId: string
  readonly purpose: DecisionPurpose
  readonly publicToken: PublicToken
  readonly sequence: number
  readonly authorizationId: string
  readonly endpoint: { readonly productId?: number; readonly version: number }
  readonly hold?: { readonly amount: number; readonly currency: string }
  readonly askedAt: string
  readonly deadline: string
  readonly decidedAt?: string
  readonly decidedBy?: Decider
  readonly decision?: DecisionVerdict
  /** The part that was approved. */
  readonly amount?: number
  readonly reason?: DecisionReason
  readonly responseCode?: string
  /** Why the client gave no usable answer; `timeout` if the time ran out. */
  readonly error?: AskError | 'timeout'
  readonly statusCode?: number
  readonly durationMs?: number
  readonly requestHash?: string
  readonly answerHash?: string
  readonly metadata?: object
  readonly lateAnswer?: SaidAnswer
}

/** The request to a client, as it was sent. */
type AskedRequest = Omit<DecisionFacts, 'amounts' | 'checks' | 'limits'> & {
  readonly decisionId: string
  readonly purpose: DecisionPurpose
  readonly sequence: number
  readonly deadline: string
  readonly amounts: DecisionFacts['amounts'] & { readonly hold?: Money }
  readonly checks: DecisionFacts['checks'][number][]
  readonly limits: DecisionFacts['limits'][number][]
}

/** The same with what the client was asked, in the format `pinfold`. */
export type DecisionWithRequest = RecordedDecision & { readonly request: AskedRequest }

/** The decisions of the requester, newest first. */
export const listDecisions = async (
  { database }: Records,
  { clientId }: Requester,
  filter: stored.DecisionFilter,
): Promise<RecordedDecision[]> =>
  (await stored.listDecisions(database, clientId, filter)).map(toRecord)

/**
 * Returns a decision of the requester, with the request in the format `pinfold`.
 * @throws `Problem` `not_found`.
 */
export async function findDecision(
  context: Records,
  requester: Requester,
  decisionId: string,
): Promise<DecisionWithRequest> {
  const row = await requireDecision(context, requester, decisionId)
  return {
    ...toRecord(row),
    request: JSON.parse(composePinfoldRequest(toRequest(row))) as AskedRequest,
  }
}

/**
 * Returns the row of a decision of the requester.
 * @throws `Problem` `not_found`.
 */
export async function requireDecision(
  { database }: Records,
  { clientId }: Requester,
  decisionId: string,
): Promise<stored.DecisionRow> {
  const row = isUuid(decisionId) && (await stored.findDecision(database, clientId, decisionId))
  if (!row) throw decisionNotFound(decisionId)
  return row
}

const toRecord = (row: stored.DecisionRow): RecordedDecision => ({
  decisionId: row.decisionId,
  purpose: row.purpose,
  publicToken: row.publicToken,
  sequence: row.sequence,
  authorizationId: row.authorizationId,
  endpoint: {
    ...(row.endpointProductId > 0 && { productId: row.endpointProductId }),
    version: row.endpointVersion,
  },
  ...(row.heldAmount !== null &&
    row.heldCurrencyCode !== null && {
      hold: { amount: row.heldAmount, currency: row.heldCurrencyCode },
    }),
  askedAt: row.askedAt.toISOString(),
  deadline: row.deadline.toISOString(),
  ...(row.concludedAt && toConclusion(row, row.concludedAt)),
  ...(row.lateAnswer !== null && { lateAnswer: toSaid(row.lateAnswer) }),
})

function toConclusion(row: stored.DecisionRow, concludedAt: Date): Partial<RecordedDecision> {
  const error = row.decidedBy === 'endpoint' ? null : (row.error ?? 'timeout')
  return {
    decidedAt: concludedAt.toISOString(),
    ...(row.decidedBy !== null && { decidedBy: row.decidedBy }),
    ...(row.verdict !== null && { decision: row.verdict }),
    ...(row.approvedAmount !== null && { amount: row.approvedAmount }),
    ...(row.reason !== null && { reason: row.reason }),
    ...(row.responseCode !== null && { responseCode: row.responseCode }),
    ...(error !== null && { error }),
    ...(row.statusCode !== null && { statusCode: row.statusCode }),
    ...(row.durationMs !== null && { durationMs: row.durationMs }),
    ...(row.requestHash !== null && { requestHash: row.requestHash }),
    ...(row.answerHash !== null && { answerHash: row.answerHash }),
    ...(row.metadata !== null && { metadata: JSON.parse(row.metadata) as object }),
  }
}

function toSaid(text: string): SaidAnswer {
  const { amount, decision, reason, responseCode } = JSON.parse(text) as {
    readonly decision: DecisionVerdict
    readonly amount: number | null
    readonly reason: string | null
    readonly responseCode: string | null
  }
  return {
    decision,
    ...(amount !== null && { amount }),
    ...(reason !== null && { reason }),
    ...(responseCode !== null && { responseCode }),
  }
}
