import { randomUUID } from 'node:crypto'
import type { Database } from '../storage/database.ts'
import {
  listAllWebhooks,
  listFeeds,
  pruneDeliveries,
  pruneFeed,
  pruneOutbox,
  pruneStreams,
  removeWebhook,
} from '../storage/event-retention.ts'
import { claimLease } from '../storage/leases.ts'
import type { Delivering } from './delivering.ts'
import { pause } from './pause.ts'

const intervalMs = 60_000
/** Rows that one statement forgets. */
const stepSize = 500

/** Forgets what is old, now and then, until it is stopped. One process does, by lease. */
export async function pruneRegularly(
  { database, observe, retentionDays }: Delivering,
  stop: AbortSignal,
): Promise<void> {
  const holder = randomUUID()
  while (!stop.aborted) {
    await pause(intervalMs, stop)
    try {
      // Nearly as long as the interval, and never given back: one turn an interval, whoever takes it.
      if (stop.aborted || !(await claimLease(database, 'prune-events', holder, 55))) continue
      await prune(database, retentionDays, stop)
    } catch (error) {
      observe.faulted(error, 'old events could not be pruned')
    }
  }
}

/** Forgets, in small steps, events and deliveries that are older than so many days. */
export async function prune(
  database: Database,
  days: number,
  stop: AbortSignal = new AbortController().signal,
): Promise<void> {
  await steps(stop, () => pruneOutbox(database, days, stepSize))
  for (let after: string | null = null; ; ) {
    const clientIds: string[] = await listFeeds(database, after, stepSize)
    for (const clientId of clientIds) await pruneClient(database, clientId, days, stop)
    after = clientIds.at(-1) ?? null
    if (after === null) break
  }
  await pruneStreams(database)
}

async function pruneClient(
  database: Database,
  clientId: string,
  days: number,
  stop: AbortSignal,
): Promise<void> {
  for (const { isDeleted, webhookId } of await listAllWebhooks(database, clientId)) {
    const reference = { clientId, webhookId }
    await steps(stop, () => pruneDeliveries(database, reference, days, stepSize, isDeleted))
    if (isDeleted && !stop.aborted) await removeWebhook(database, reference)
  }
  await steps(stop, () => pruneFeed(database, clientId, days, stepSize))
}

/** Until a step finds nothing more. */
async function steps(stop: AbortSignal, step: () => Promise<number>): Promise<void> {
  while (!stop.aborted && (await step()) > 0);
}
