/** The values with a try counter of their own. */
export type TryKind = 'pin' | 'cvv'

/** The tries of one PIN or CVV in its current epoch. */
export interface TryCounters {
  /** The product's `pinTryLimit` or `cvvTryLimit`. */
  readonly limit: number
  /** The number of spent tries, which is also the number of the latest one. */
  readonly spent: number
  /** The number of restored tries; never more than `spent`. */
  readonly restored: number
  /**
   * Whether the client blocked the CVV, or the PIN moved to the card that took the place of this
   * one, regardless of the counters.
   */
  readonly isWithdrawn: boolean
}

/** `pinStatus` and `cvvStatus` on the wire. `Blocked` exactly when `remainingTries` is 0. */
export interface TryStatus {
  readonly status: 'Unblocked' | 'Blocked'
  readonly description: string
  readonly remainingTries: number
}

/**
 * Returns the number of remaining tries. It is never negative, even after the limit was lowered.
 */
export const remainingTries = ({ limit, spent, restored, isWithdrawn }: TryCounters): number =>
  isWithdrawn ? 0 : Math.max(0, limit - (spent - restored))

/** Returns the status of a PIN or CVV. It is derived from the tries, so the two always agree. */
export function tryStatus(kind: TryKind, counters: TryCounters): TryStatus {
  const remaining = remainingTries(counters)
  const { blocked, usable, withdrawn } = descriptions[kind]
  if (remaining > 0) return { status: 'Unblocked', description: usable, remainingTries: remaining }
  const description = counters.isWithdrawn ? withdrawn : blocked
  return { status: 'Blocked', description, remainingTries: 0 }
}

/** The statuses of a PIN and a CVV, for a person to read. */
const descriptions = {
  pin: {
    usable: 'The PIN can be used.',
    blocked: 'The PIN is blocked: tries used up.',
    withdrawn: 'The PIN is blocked: it moved to the card that took the place of this one.',
  },
  cvv: {
    usable: 'The CVV can be used.',
    blocked: 'The CVV is blocked: tries used up.',
    withdrawn: 'The CVV is blocked by the client.',
  },
} as const satisfies Record<TryKind, object>
