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
  /** Whether the client blocked it, regardless of the counters. */
  readonly blockedByClient: boolean
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
export const remainingTries = ({ limit, spent, restored, blockedByClient }: TryCounters): number =>
  blockedByClient ? 0 : Math.max(0, limit - (spent - restored))

/** Returns the status of a PIN or CVV. It is derived from the tries, so the two always agree. */
export function tryStatus(kind: TryKind, counters: TryCounters): TryStatus {
  const remaining = remainingTries(counters)
  const reason = counters.blockedByClient ? ' by the client.' : ': tries used up.'
  const state = remaining > 0 ? 'can be used.' : `is blocked${reason}`
  return {
    status: remaining > 0 ? 'Unblocked' : 'Blocked',
    description: `The ${kind === 'pin' ? 'PIN' : 'CVV'} ${state}`,
    remainingTries: remaining,
  }
}
