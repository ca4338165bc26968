import type { ChipFinding } from './chip-findings.ts'
import type { Decider, DecisionReason } from './decision.ts'

/**
 * The checks, in the order in which they run. `controls` are those without money; they cost no try.
 * `shadow` precedes the check of the controls that it would have belonged to. It and the checks of
 * the address decide nothing. `plastic` is noted only if it objects: the plastic of the request is
 * not the one in use. `chip`: the chip data, and how the card was read. `card_value`: the
 * CVV, iCVV, dCVV or CVC3 of a stripe. `offline_pin`: the PIN in the chip. `decision`: what the
 * card's client said, or what stood in for its answer. `answer` belongs to repeats: whether the
 * first request was answered before it was lost with its process.
 */
export const checkNames = [
  'card',
  'postal_code',
  'address_line',
  'status',
  'expiry',
  'plastic',
  'transaction_type',
  'currency',
  'shadow',
  'controls',
  'chip',
  'cryptogram',
  'card_value',
  'cavv',
  'offline_pin',
  'pin_block',
  'pin',
  'cvv2',
  'limits',
  'decision',
  'answer',
] as const

/**
 * The results of a check. `not_given`: the request lacks the value to check. `blocked`: no try was
 * left, and nothing was compared. `unresolved`: the HSM gave no answer.
 */
export const checkResults = ['passed', 'failed', 'not_given', 'blocked', 'unresolved'] as const

/** One check of an authorization, without the value that was checked. */
export interface AuthorizationCheck {
  readonly check: (typeof checkNames)[number]
  readonly result: (typeof checkResults)[number]
  /** Milliseconds from the arrival of the request to the result of this check. */
  readonly afterMs: number
  /** The response code of the objection. Only the last check can have one. */
  readonly responseCode?: string
  /** The status of the card. */
  readonly cardStatusCode?: string
  /** The transaction counter of the chip. */
  readonly atc?: number
  /** The findings of a chip or a stripe. */
  readonly findings?: ChipFinding[]
  /** For a PIN or CVV2: the remaining tries, and the number of the try that it spent. */
  readonly remainingTries?: number
  readonly tryNumber?: number
  /** The control that objected: `merchants`, `limits.day`. */
  readonly control?: string
  /** The control's owner. */
  readonly owner?: 'product' | 'card'
  /** Of an external decision: who decided, and why it declined. */
  readonly decidedBy?: Decider
  readonly reason?: DecisionReason
}

/** Reads checks as they are stored. */
export const parseChecks = (text: string): AuthorizationCheck[] =>
  JSON.parse(text) as AuthorizationCheck[]
