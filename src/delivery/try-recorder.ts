import { recordTries, type TriedDelivery } from '../storage/delivery-lanes.ts'
import type { WebhookReference } from '../storage/delivery-queues.ts'
import type { Delivering } from './delivering.ts'

/** Puts a try on record. Resolves when it is durable. */
export type TryRecorder = (tried: TriedDelivery) => Promise<void>

/** A deadlock or a moment without a database must not make a receiver get what it has. */
const attemptsMax = 3

/**
 * Records the tries of one endpoint. Those that end while a statement runs share the next one: the
 * busier the endpoint, the fewer statements a try.
 */
export function createTryRecorder(
  { database }: Delivering,
  reference: WebhookReference,
): TryRecorder {
  let waiting: TriedDelivery[] = []
  let next: Promise<void> | null = null
  let running: Promise<void> = Promise.resolve()

  const recordWaiting = async (): Promise<void> => {
    await running.catch(() => undefined)
    const batch = waiting
    waiting = []
    next = null
    running = persistently(() => recordTries(database, reference, batch))
    await running
  }
  return (tried) => {
    waiting.push(tried)
    next ??= recordWaiting()
    return next
  }
}

async function persistently(work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (attempt === attemptsMax) throw error
    }
  }
}
