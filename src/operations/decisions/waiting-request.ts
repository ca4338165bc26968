import type { DecisionPurpose } from '../../domain/decision.ts'
import { toMoney } from '../../domain/money.ts'
import type { WaitingDecision } from '../../storage/decisions/conclude.ts'
import type { DecisionRequest } from './compose-request.ts'

/** The parts of the request about a decision that waits. */
type WaitingFacts = Pick<
  WaitingDecision,
  'decisionId' | 'sequence' | 'facts' | 'heldAmount' | 'heldCurrencyCode' | 'deadline'
>

/** Composes the request about a decision that waits. It is the same in every process. */
export function composeWaitingRequest(
  { deadline, decisionId, facts, heldAmount, heldCurrencyCode, sequence }: WaitingFacts,
  purpose: DecisionPurpose = 'authorize',
): DecisionRequest {
  const hold = toMoney(heldAmount, heldCurrencyCode)
  return { facts, reserved: { decisionId, sequence, hold, deadline }, purpose }
}
