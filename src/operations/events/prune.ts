import { randomUUID } from 'node:crypto'
import type { Database } from '../../storage/engine/database.ts'
import { claimLease } from '../../storage/engine/leases.ts'
import { listFeeds, pruneFeed, pruneOutbox, pruneStreams } from '../../storage/events/retention.ts'
import {
  listAllWebhooks,
  pruneDeliveries,
  removeDeliveries,
  removeWebhook,
} from '../../storage/webhooks/retention.ts'
import { pruneFormerSecrets } from '../../storage/webhooks/webhooks.ts'
import { type EventContext, pause } from './publish.ts'

const intervalMs = 60_000
/** Rows that one statement forgets. */
const stepSize = 500

/** Forgets what is old, now and then, until it is stopped. One process does, by lease. */
export async function pruneRegularly(
  { database, observe, retentionDays }: EventContext & { readonly retentionDays: number },
  stop: AbortSignal,
): Promise<void> {
  const holder = randomUUID()
  while (!stop.aborted) {
    await pause(intervalMs, stop)
    try {
      // Nearly as long as the interval, and never given back: once an interval, whoever takes it.
      if (stop.aborted || !(await claimLease(database, 'prune-events', holder, 55))) continue
      await prune(database, retentionDays, stop)
    } catch (error) {
      observe.faulted(error, 'old events could not be pruned')
    }
  }
}

/**
 * Forgets, in small steps, events and deliveries that are older than so many days.
 * @throws AggregateError of the clients that failed, after all the others were seen to.
 */
export async function prune(
  database: Database,
  days: number,
  stop: AbortSignal = new AbortController().signal,
): Promise<void> {
  const faults: unknown[] = []
  await untilNone(stop, () => pruneOutbox(database, days, stepSize))
  for (let after: string | null = null; !stop.aborted; ) {
    const clientIds: string[] = await listFeeds(database, after, stepSize)
    for (const clientId of clientIds) {
      if (stop.aborted) break
      await pruneClient(database, clientId, days, stop).catch((error) => faults.push(error))
    }
    after = clientIds.at(-1) ?? null
    if (after === null) break
  }
  if (!stop.aborted) await pruneStreams(database)
  if (!stop.aborted) await pruneFormerSecrets(database)
  if (faults.length > 0) {
    throw new AggregateError(faults, 'Not all could be forgotten.', { cause: faults[0] })
  }
}

async function pruneClient(
  database: Database,
  clientId: string,
  days: number,
  stop: AbortSignal,
): Promise<void> {
  for (const { isDeleted, webhookId } of await listAllWebhooks(database, clientId)) {
    const reference = { clientId, webhookId }
    await untilNone(stop, () =>
      isDeleted
        ? removeDeliveries(database, reference, stepSize)
        : pruneDeliveries(database, reference, days, stepSize),
    )
    if (stop.aborted) return
    if (isDeleted) await removeWebhook(database, reference)
  }
  for (let after: string | null = '0'; after !== null && !stop.aborted; ) {
    after = await pruneFeed(database, clientId, { after, days, limit: stepSize })
  }
}

/** Goes on until a step finds nothing more. */
async function untilNone(stop: AbortSignal, step: () => Promise<number>): Promise<void> {
  while (!stop.aborted && (await step()) > 0);
}
