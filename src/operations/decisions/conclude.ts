import type { AuthorizationCheck } from '../../domain/authorization-check.ts'
import type { AskOutcome } from '../../domain/decision.ts'
import { explainDecline } from '../../domain/decline-reason.ts'
import { isApprovalCode, type ResponseCode } from '../../domain/response-code.ts'
import { readAnswer } from '../../storage/decisions/calls.ts'
import {
  type ConclusionState,
  concludeDecision,
  type NewConclusion,
  type WaitingDecision,
} from '../../storage/decisions/conclude.ts'
import type { PendingDecision } from '../../storage/decisions/reserve.ts'
import type {
  Authorization,
  AuthorizationContext,
  PreparedDecision,
} from '../authorizations/authorization.ts'
import { sealAnswer } from '../idempotency/idempotency.ts'
import { acceptAnswer, type Decided } from './decided.ts'

/** The dependencies of a conclusion. */
export type ConcludeContext = Pick<AuthorizationContext, 'database' | 'hsm' | 'now' | 'observe'>

/** The outcome of a request: the decision and its origin. */
export interface FoundDecision {
  readonly decided: Decided
  readonly asked: Omit<AskOutcome, 'answer'>
}

type AnswerChip = Parameters<PreparedDecision['decide']>[1]

/** How often the state may change before a conclusion: each part of it changes once. */
const attemptsMost = 5

/**
 * Concludes a decision, and with it the authorization: the one way of the process that asked, of
 * the sweep after a lost process, and of a repeat. An answer that the client gave by a call, and a
 * reversal that came meanwhile, count before what was found.
 * @param answerChip adds the answer to the chip, which only the process that asked can compose.
 * @returns the answer to the network: that of the first conclusion.
 */
export async function conclude(
  context: ConcludeContext,
  waiting: WaitingDecision,
  found: FoundDecision,
  answerChip: AnswerChip = async (answer) => answer,
): Promise<Authorization> {
  const { pending } = waiting
  const { calledAnswer } = waiting
  let state: ConclusionState = { calledAnswer, isReversed: false, isTaken: false }
  let outcome: string = 'stale'
  for (let attempts = 0; attempts < attemptsMost; attempts += 1) {
    const conclusion = composeConclusion(waiting, chooseFound(found, state), state)
    const sealed = await sealAnswers(context, pending, conclusion, answerChip)
    const now = context.now()
    const concluded = await concludeDecision(context.database, { ...conclusion, ...sealed, now })
    outcome = concluded.outcome
    if (concluded.outcome === 'unknown') break
    if (concluded.outcome === 'stale') {
      const { calledAnswer, isReversed, isTaken } = concluded
      state = { calledAnswer, isReversed, isTaken }
      continue
    }
    const answer = await answerChip(composeAnswer(pending, concluded))
    if (concluded.outcome === 'concluded') {
      context.observe.decided(conclusion.decidedBy, conclusion.error)
      context.observe.answered(answer)
    }
    return answer
  }
  throw new Error(`Decision ${waiting.decisionId} could not be concluded: ${outcome}`)
}

/** An answer that the client gave by a call was acknowledged: it counts before all others. */
function chooseFound(
  found: FoundDecision,
  { calledAnswer }: Pick<ConclusionState, 'calledAnswer'>,
): FoundDecision {
  if (calledAnswer === null) return found
  const { answer, answerHash } = readAnswer(calledAnswer)
  const asked = { ...found.asked, error: null, statusCode: null, answerHash }
  return { decided: acceptAnswer(answer), asked }
}

type UnsealedConclusion = Omit<NewConclusion, 'answer' | 'flaggedAnswer' | 'now'>

function composeConclusion(
  waiting: WaitingDecision,
  { asked, decided }: FoundDecision,
  state: ConclusionState,
): UnsealedConclusion {
  const { decisionId, pending, publicToken } = waiting
  const { decidedBy, metadata, verdict } = decided
  const durationMs = Math.max(0, Date.now() - pending.arrivedAtMs)
  const checks = [...pending.checks, composeCheck(decided, durationMs)]
  const { approvedAmount, responseCode } = selectResponse(waiting, decided, state)
  const isApproved = isApprovalCode(responseCode)
  return {
    ...state,
    publicToken,
    decisionId,
    isApproved,
    responseCode,
    approvedAmount,
    heldAmount: isApproved ? (approvedAmount ?? waiting.heldAmount) : null,
    holdExpiresAt: isApproved ? selectExpiry(pending, decided) : null,
    checks: JSON.stringify(checks),
    details: JSON.stringify({
      ...composeDetails(pending, { responseCode, approvedAmount }, checks),
      decisionId,
      decidedBy,
      decision: describeAsking(waiting, asked),
    }),
    durationMs,
    decidedBy,
    verdict,
    reason: decided.decline?.reason ?? null,
    error: asked.error,
    statusCode: asked.statusCode,
    decisionMs: Math.round(asked.durationMs),
    requestHash: asked.requestHash,
    answerHash: asked.answerHash,
    metadata,
  }
}

/** The members of an answer to the network about an amount. */
interface Response {
  readonly responseCode: ResponseCode
  /** Null unless a part of the amount is approved. */
  readonly approvedAmount: number | null
}

function selectResponse(
  { heldAmount, pending }: WaitingDecision,
  { amount, decline }: Decided,
  { isReversed, isTaken }: ConclusionState,
): Response {
  const declined = (responseCode: ResponseCode) => ({ responseCode, approvedAmount: null })
  // The network received 96 already, or receives it, because its key was deleted.
  if (isTaken) return declined('96')
  if (isReversed) return declined('94')
  if (decline) return declined(decline.responseCode)
  const isPart = amount !== null && heldAmount !== null && amount < heldAmount
  const approvedAmount = isPart ? amount : pending.approvedAmount
  return { responseCode: approvedAmount === null ? '00' : '10', approvedAmount }
}

/** The expiry that the client gives the hold counts before those of the network and product. */
function selectExpiry({ holdExpiresAt }: PendingDecision, decided: Decided): Date | null {
  if (holdExpiresAt === null) return null
  return decided.holdExpiresAt ?? new Date(holdExpiresAt)
}

const composeCheck = ({ decidedBy, decline }: Decided, durationMs: number): AuthorizationCheck => ({
  check: 'decision',
  result: !decline ? 'passed' : decline.reason === 'decision_unavailable' ? 'unresolved' : 'failed',
  afterMs: durationMs,
  ...(decline && { responseCode: decline.responseCode }),
  decidedBy,
  ...(decline && { reason: decline.reason }),
})

/** The details of the event, which an approval has foreseen. */
function composeDetails(
  { details }: PendingDecision,
  { approvedAmount, responseCode }: Response,
  checks: readonly AuthorizationCheck[],
): Readonly<Record<string, unknown>> {
  const { approvedAmount: _, paymentId, ...others } = details
  const { control, declineReason, declinedBy } = explainDecline(responseCode, checks) ?? {}
  return {
    ...others,
    ...(isApprovalCode(responseCode) && paymentId !== undefined && { paymentId }),
    ...(approvedAmount !== null && { approvedAmount }),
    responseCode,
    declineReason,
    declinedBy,
    control,
    checks: checks.map(({ check, result }) => ({ check, result })),
  }
}

const toHex = (hash: Uint8Array | null): string | undefined =>
  hash === null ? undefined : Buffer.from(hash).toString('hex')

/** How the client was asked, for the event and the audit log. */
const describeAsking = (
  { endpointProductId, endpointVersion }: WaitingDecision,
  { answerHash, durationMs, error, requestHash, statusCode }: FoundDecision['asked'],
) => ({
  ...(endpointProductId !== 0 && { productId: endpointProductId }),
  endpointVersion,
  durationMs: Math.round(durationMs),
  statusCode: statusCode ?? undefined,
  error: error ?? undefined,
  requestHash: toHex(requestHash),
  answerHash: toHex(answerHash),
})

/** Composes the answer to the network, as the approval foresaw it or as it was decided. */
function composeAnswer(
  { answer }: Pick<PendingDecision, 'answer'>,
  { approvedAmount, paymentId, responseCode }: Response & { readonly paymentId: string | null },
): Authorization {
  const { approvedAmount: _, paymentId: foreseen, ...others } = answer as Authorization
  return {
    ...others,
    approved: isApprovalCode(responseCode),
    responseCode,
    ...(approvedAmount !== null && { approvedAmount }),
    // An increment by the network's id does not name its payment.
    ...(foreseen !== undefined && paymentId !== null && { paymentId }),
  }
}

/** Seals the answer for repeats, and the one for an increment that raises no payment. */
async function sealAnswers(
  { hsm }: ConcludeContext,
  { answer, claim, increment }: PendingDecision,
  { approvedAmount, isApproved, responseCode }: UnsealedConclusion,
  answerChip: AnswerChip,
): Promise<Pick<NewConclusion, 'answer' | 'flaggedAnswer'>> {
  if (!claim) return { answer: null, flaggedAnswer: null }
  const { authorizationId = null, paymentId = null } = answer as Authorization
  const seal = async (namedPaymentId: string | null) => {
    const response = { responseCode, approvedAmount, paymentId: isApproved ? namedPaymentId : null }
    const composed = await answerChip(composeAnswer({ answer }, response))
    return sealAnswer(hsm, claim, claim.claimId, composed)
  }
  return {
    answer: await seal(paymentId),
    flaggedAnswer: isApproved && increment?.paymentId ? await seal(authorizationId) : null,
  }
}
