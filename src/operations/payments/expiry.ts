import type { Database } from '../../storage/engine/database.ts'
import { newEventId } from '../../storage/events/events.ts'
import { expirePayment, listDueHolds } from '../../storage/payments/messages.ts'

/** The number of holds listed at a time. */
const stepSize = 100

/**
 * Expires the holds that are due, each with its event, in small steps. Several processes may do so
 * at once: each hold expires once.
 * @param stop ends it between two holds.
 */
export async function expireHolds(
  { database, now }: { readonly database: Database; now(): Date },
  stop: AbortSignal = new AbortController().signal,
): Promise<void> {
  const at = now()
  while (!stop.aborted) {
    const due = await listDueHolds(database, at, stepSize)
    for (const hold of due) {
      if (stop.aborted) return
      await expirePayment(database, hold, newEventId(), at)
    }
    if (due.length < stepSize) return
  }
}
