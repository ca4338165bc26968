import type { Database } from '../../storage/engine/database.ts'
import { newEventId } from '../../storage/events/events.ts'
import { expirePayment, listDueHolds } from '../../storage/payments/messages.ts'

/** The number of holds listed at a time. */
const stepSize = 100

/**
 * Expires the holds that are due, each with its event, in small steps. Several processes may do so
 * at once: each hold expires once.
 * @param stop ends it between two holds.
 * @throws AggregateError of the failures, after the other holds of their steps were expired.
 */
export async function expireHolds(
  { database, now }: { readonly database: Database; now(): Date },
  stop: AbortSignal = new AbortController().signal,
): Promise<void> {
  const at = now()
  const failed = new Map<string, unknown>()
  let isProgress = true
  while (isProgress && !stop.aborted) {
    isProgress = false
    const due = await listDueHolds(database, at, stepSize)
    // A hold that failed is listed again, and has had its turn.
    for (const hold of due.filter(({ paymentId }) => !failed.has(paymentId))) {
      if (stop.aborted) break
      try {
        await expirePayment(database, hold, newEventId(), at)
        isProgress = true
      } catch (error) {
        failed.set(hold.paymentId, error)
      }
    }
    if (due.length < stepSize) break
  }
  if (failed.size === 0) return
  const faults = [...failed.values()]
  throw new AggregateError(faults, 'Some holds could not be expired.', { cause: faults[0] })
}
