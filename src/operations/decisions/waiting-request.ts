import type { ReservedDecision } from '../../domain/decision.ts'
import type { WaitingDecision } from '../../storage/decisions/conclude.ts'
import type { DecisionRequest } from './compose-request.ts'

/** Composes the request about a decision that waits. It is the same in every process. */
export function composeWaitingRequest(waiting: WaitingDecision): DecisionRequest {
  const { deadline, decisionId, facts, heldAmount, heldCurrencyCode, sequence } = waiting
  const hold =
    heldAmount === null || heldCurrencyCode === null
      ? null
      : { amount: heldAmount, currency: heldCurrencyCode }
  const reserved: ReservedDecision = { decisionId, sequence, hold, deadline }
  return { facts, reserved, purpose: 'authorize' }
}
