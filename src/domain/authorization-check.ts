/**
 * What is looked at, in this order. `answer`: of a repeat, whether the first request was answered
 * before it was lost with its process.
 */
export const checkNames = [
  'card',
  'status',
  'expiry',
  'pin_block',
  'pin',
  'cvv2',
  'answer',
] as const

/**
 * What a check came to. `not_given`: the request has nothing that it could be made on. `blocked`:
 * no try was left, and nothing was compared. `unresolved`: the HSM gave no answer.
 */
export const checkResults = ['passed', 'failed', 'not_given', 'blocked', 'unresolved'] as const

/** One check of an authorization. Never the value that was checked. */
export interface AuthorizationCheck {
  readonly check: (typeof checkNames)[number]
  readonly result: (typeof checkResults)[number]
  /** Milliseconds from the arrival of the request to the result of this check. */
  readonly afterMs: number
  /** What it objected with: at most one does, the last. */
  readonly responseCode?: string
  /** The status that the card had. */
  readonly cardStatusCode?: string
  /** Of a PIN or CVV2: the tries left after it, and the number of the try that it spent. */
  readonly remainingTries?: number
  readonly tryNumber?: number
}

/** Reads checks as they are stored. */
export const parseChecks = (text: string): AuthorizationCheck[] =>
  JSON.parse(text) as AuthorizationCheck[]
