import { pruneAssertions } from '../storage/client-assertions.ts'
import type { Connection } from '../storage/database.ts'
import { pruneLimits } from '../storage/limits.ts'
import { prunePinEnvelopes } from '../storage/pin-envelopes.ts'
import { pruneWrongExpiries } from '../storage/wrong-expiries.ts'

/** Rows forgotten at a time, so that nobody is held up. */
const stepSize = 100
/** Steps of one turn; the next one goes on from there. */
const stepsMost = 1_000

/**
 * How far the clocks of two processes may be apart: what is over by this one's clock may still be
 * taken by another one, if nobody remembers it.
 */
const clockMarginMs = 5 * 60_000

const prunes: readonly ((connection: Connection, at: Date, limit: number) => Promise<number>)[] = [
  pruneAssertions,
  prunePinEnvelopes,
  pruneWrongExpiries,
  (connection, at, limit) => pruneLimits(connection, 'card', at, limit),
  (connection, at, limit) => pruneLimits(connection, 'client', at, limit),
]

/**
 * Forgets what was taken once and would be refused for its age by now: client assertions, and PINs that
 * were sealed on a device. And what counts no more: uses of limits, wrong expiries.
 * @param stop ends it between two steps.
 */
export async function forgetUsedOnce(
  connection: Connection,
  now: Date,
  stop: AbortSignal = new AbortController().signal,
): Promise<void> {
  const expiredBefore = new Date(now.getTime() - clockMarginMs)
  for (const prune of prunes) {
    for (let step = 0; step < stepsMost && !stop.aborted; step += 1) {
      if ((await prune(connection, expiredBefore, stepSize)) < stepSize) break
    }
  }
}
