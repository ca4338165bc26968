/** What is tried, and counted apart. */
export type TryKind = 'pin' | 'cvv'

/** The tries of one PIN or CVV in its current epoch. */
export interface TryCounters {
  /** The product's `pinTryLimit` or `cvvTryLimit`. */
  readonly limit: number
  /** How many tries were spent; also the number of the latest one. */
  readonly spent: number
  /** How many of them were given back; never more than `spent`. */
  readonly restored: number
  /** Whether the client blocked it, whatever the counters say. */
  readonly blockedByClient: boolean
}

/** `pinStatus` and `cvvStatus` on the wire. `Blocked` exactly when `remainingTries` is 0. */
export interface TryStatus {
  readonly status: 'Unblocked' | 'Blocked'
  readonly description: string
  readonly remainingTries: number
}

/**
 * Returns the number of wrong values that are still allowed. A lowered limit never makes it
 * negative.
 */
export const remainingTries = ({ limit, spent, restored, blockedByClient }: TryCounters): number =>
  blockedByClient ? 0 : Math.max(0, limit - (spent - restored))

/** The status of a PIN or CVV, derived from its tries, so that the two cannot disagree. */
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
