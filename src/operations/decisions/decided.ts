import {
  type ClientDeclineReason,
  clientDeclineCodes,
  type Decider,
  type DecisionAnswer,
  type DecisionReason,
  type DecisionVerdict,
  type Fallback,
} from '../../domain/decision.ts'
import { declineRules } from '../../domain/decline-reason.ts'
import type { DeclineCode } from '../../domain/response-code.ts'

/** The decision about an authorization, and its origin. */
export interface Decided {
  readonly decidedBy: Decider
  readonly verdict: DecisionVerdict
  /** The part that is approved; null: all of it. */
  readonly amount: number | null
  /** Of a decline; null for an approval. */
  readonly decline: {
    readonly reason: DecisionReason
    readonly responseCode: DeclineCode
  } | null
  /** Null: the hold expires as it does without a decision. */
  readonly holdExpiresAt: Date | null
  /** The client's own, as JSON. */
  readonly metadata: string | null
}

const clientReasons = Object.keys(clientDeclineCodes) as readonly ClientDeclineReason[]

/** Returns the decision in an answer of the card's client. */
export function acceptAnswer({
  amount,
  decision: verdict,
  holdExpiresAt,
  metadata,
  reason,
  responseCode,
}: DecisionAnswer): Decided {
  const decided = { decidedBy: 'endpoint', verdict, metadata } as const
  if (verdict === 'approve') return { ...decided, amount, decline: null, holdExpiresAt }
  const nothing = { amount: null, holdExpiresAt: null }
  if (verdict === 'challenge') {
    const reason = 'authentication_required'
    const { responseCode } = declineRules[reason]
    return { ...decided, ...nothing, decline: { reason, responseCode } }
  }
  // A client may give the code alone.
  const ofCode = clientReasons.find((each) => clientDeclineCodes[each] === responseCode)
  const given = reason ?? ofCode ?? 'do_not_honor'
  const decline = { reason: given, responseCode: responseCode ?? clientDeclineCodes[given] }
  return { ...decided, ...nothing, decline }
}

const declineUnavailable = (decidedBy: Decider): Decided => ({
  decidedBy,
  verdict: 'decline',
  amount: null,
  decline: {
    reason: 'decision_unavailable',
    responseCode: declineRules.decision_unavailable.responseCode,
  },
  holdExpiresAt: null,
  metadata: null,
})

const approveInstead = (decidedBy: Decider): Decided => ({
  decidedBy,
  verdict: 'approve',
  amount: null,
  decline: null,
  holdExpiresAt: null,
  metadata: null,
})

/**
 * What stands in for an answer that did not come in time, or that cannot be used.
 * @param applyRule returns whether the rule approves. If it throws, the authorization is declined.
 * @param onFault receives the error of the rule.
 */
export function standIn(
  fallback: Fallback,
  cause: 'timeout' | 'error',
  applyRule: (rule: string) => boolean,
  onFault: (error: unknown) => void,
): Decided {
  const kind = cause === 'timeout' ? fallback.onTimeout : fallback.onError
  if (kind === 'approve') return approveInstead(`fallback:${cause}`)
  if (kind === 'decline' || fallback.rule === null) return declineUnavailable(`fallback:${cause}`)
  let isApproved: boolean
  try {
    isApproved = applyRule(fallback.rule)
  } catch (error) {
    onFault(error)
    return declineUnavailable(`fallback:${cause}`)
  }
  const decidedBy = `rule:${cause}` as const
  if (isApproved) return approveInstead(decidedBy)
  const reason = 'do_not_honor'
  const { responseCode } = declineRules[reason]
  return { ...declineUnavailable(decidedBy), decline: { reason, responseCode } }
}
