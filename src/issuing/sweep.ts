import { dateOf } from '../domain/calendar.ts'
import { expireCards } from '../storage/card-changes.ts'
import { pruneIdempotencyRecords } from '../storage/idempotency.ts'
import type { Issuing } from './issuing.ts'

/** Rows changed at a time, so that a sweep holds nobody up. */
const stepSize = 100

/**
 * Writes the one event of each card that expired, and forgets old idempotency keys, in small steps.
 * Any number of processes may sweep at once.
 * @param stop ends it between two steps: the next sweep goes on from there.
 */
export async function sweep(
  { database, now }: Pick<Issuing, 'database' | 'now'>,
  stop: AbortSignal = new AbortController().signal,
): Promise<void> {
  const today = dateOf(now())
  await untilDone(stop, () => expireCards(database, today, stepSize))
  await untilDone(stop, () => pruneIdempotencyRecords(database, stepSize))
}

async function untilDone(stop: AbortSignal, step: () => Promise<number>): Promise<void> {
  while (!stop.aborted && (await step()) > 0);
}
