import { explainDecline } from '../../domain/decline-reason.ts'
import { composeHold, type Hold } from '../../domain/payment.ts'
import { isApprovalCode, type ResponseCode } from '../../domain/response-code.ts'
import { recordTransaction } from '../../domain/transaction.ts'
import type { TryKind } from '../../domain/tries.ts'
import { type NewSpending, toSpending } from '../../storage/authorizations/applied-controls.ts'
import type { AuthorizedCard } from '../../storage/authorizations/begin.ts'
import type { Answered, AnsweredAuthorization } from '../../storage/authorizations/settle.ts'
import { newEventId } from '../../storage/events/events.ts'
import type { Authorization, AuthorizationRequest, CheckOutcome } from './authorization.ts'
import type { TracedRequest } from './trace.ts'

/** The outcome of each kind of try. */
export type Outcomes = Readonly<Record<TryKind, CheckOutcome>>

/** The outcomes before any comparison. */
export const uncheckedOutcomes = ({ cvvRemaining, pinRemaining }: AuthorizedCard): Outcomes => ({
  pin: { result: 'not_checked', remainingTries: pinRemaining },
  cvv: { result: 'not_checked', remainingTries: cvvRemaining },
})

/** An answer that approves a part of the amount. */
interface PartialVerdict {
  readonly responseCode: '10'
  readonly approvedAmount: number
}

/** The answer to a request: a response code, and the amount if it approves a part. */
export type Verdict = Exclude<ResponseCode, '10'> | PartialVerdict

const isPartial = (verdict: Verdict): verdict is PartialVerdict => typeof verdict === 'object'

/** The answer that was committed: the foreseen one, unless a limit refused it. */
export function selectVerdict(
  { approvedAmount, limitCode }: Pick<Answered, 'approvedAmount' | 'limitCode'>,
  foreseen: Verdict,
): Verdict {
  if (limitCode === null) return foreseen
  if (limitCode !== '10') return limitCode
  if (approvedAmount === null) throw new Error('A partial approval has no amount.')
  return { responseCode: limitCode, approvedAmount }
}

/**
 * Composes the answer to the network.
 * @param authorizationId of its record, if the card is known.
 */
export function composeAnswer(
  verdict: Verdict,
  card: AuthorizedCard | null,
  traced: TracedRequest,
  authorizationId: string,
  outcomes: Outcomes | null = card && uncheckedOutcomes(card),
): Authorization {
  const approval = isPartial(verdict) ? verdict : { responseCode: verdict }
  return {
    approved: isApprovalCode(approval.responseCode),
    ...approval,
    ...(card && { publicToken: card.publicToken, authorizationId }),
    ...namePayment(traced, approval, authorizationId),
    reference: traced.reference,
    ...outcomes,
    ...(card && traced.address && { address: traced.address }),
  }
}

type Approval = Pick<Authorization, 'responseCode' | 'approvedAmount'>

/** Composes what an answer holds; null for a decline, and for what takes no money. */
function composeHeld(
  { at, holdExpiresAt, transaction }: TracedRequest,
  { approvedAmount, responseCode }: Approval,
  productDays: number | null = null,
): Hold | null {
  const hold =
    isApprovalCode(responseCode) && composeHold(transaction, at, holdExpiresAt, productDays)
  if (!hold) return null
  return approvedAmount === undefined ? hold : { ...hold, amount: approvedAmount }
}

/**
 * Names the payment of an approval: its own, or the one that an increment names and would raise.
 * An increment with the network's id of the transaction finds its payment later.
 */
function namePayment(
  traced: TracedRequest,
  approval: Approval,
  authorizationId: string,
): Pick<Authorization, 'paymentId'> {
  if (composeHeld(traced, approval) === null) return {}
  const paymentId = traced.increment ? traced.increment.paymentId : authorizationId
  return paymentId === null ? {} : { paymentId }
}

/** The request of an increment that raised nothing, and so opened a payment of its own. */
export const toFlagged = ({ increment: _, ...traced }: TracedRequest): TracedRequest => traced

/**
 * Composes the record and the event of an answered authorization.
 * @param spending what it takes from limits; null for a decline.
 */
export function toAnsweredAuthorization(
  traced: TracedRequest,
  {
    clientId,
    controls,
    publicToken,
  }: Pick<AuthorizedCard, 'clientId' | 'controls' | 'publicToken'>,
  { approvedAmount, authorizationId = newEventId(), responseCode }: Authorization,
  spending: NewSpending | null = null,
): AnsweredAuthorization & Pick<AuthorizationRequest, 'entryMode'> {
  const { entryMode, networkId, reference, requestId, trail, transaction } = traced
  const { control, declinedBy, declineReason } = explainDecline(responseCode, trail.checks) ?? {}
  const approval = { responseCode, ...(approvedAmount !== undefined && { approvedAmount }) }
  const { paymentId } = namePayment(traced, approval, authorizationId)
  const reported = { authorizationId, paymentId, responseCode, declineReason, declinedBy, control }
  return {
    publicToken,
    clientId,
    authorizationId,
    networkId,
    requestId,
    reference,
    entryMode,
    transaction,
    responseCode,
    checks: JSON.stringify(trail.checks),
    durationMs: trail.durationMs(),
    now: traced.at,
    eventType: isApprovalCode(responseCode) ? 'authorization.approved' : 'authorization.declined',
    details: JSON.stringify({
      ...reported,
      entryMode,
      reference,
      ...recordTransaction(transaction),
      approvedAmount,
      checks: trail.checks.map(({ check, result }) => ({ check, result })),
      // Of the try that the record has. An earlier one has a record without an answer.
      tryNumber: trail.checks.findLast(({ check }) => check !== 'limits')?.tryNumber,
    }),
    hold: composeHeld(traced, approval, controls?.holdDays),
    increment: traced.increment ?? null,
    spending: controls && toSpending(controls, spending),
  }
}
