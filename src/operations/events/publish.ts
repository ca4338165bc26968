import { randomUUID } from 'node:crypto'
import type { Database } from '../../storage/engine/database.ts'
import { claimLease, releaseLease } from '../../storage/engine/leases.ts'
import * as storedEvents from '../../storage/events/publish.ts'
import { pause, type Rests, shortestRestMs } from './rests.ts'

/** The dependencies of publishing and deleting events. */
export interface EventContext {
  readonly database: Database
  readonly rests: Rests
  readonly observe: {
    /** A step failed and will be retried automatically. */
    faulted(error: unknown, what: string): void
  }
}

/** Lets work begin, except while the state of a sandbox is replaced. */
export interface PublicationGate {
  /** Returns a function to call at the end of the work. */
  enter(): Promise<() => void>
}

const leaseName = 'publish-events'
const leaseSeconds = 5
const renewAfterMs = 1_500
/** How long a process waits that is not the publisher. */
const standByMs = 1_000
/** How long idle work pauses on a cluster, where each check goes to every shard. */
const clusterRestMs = 1_000

/** The longest rest of a background job that finds no work. */
export const longestRestMs = (database: Database): number =>
  database.isCluster() ? clusterRestMs : shortestRestMs

/** The number of events in a batch. */
const batchSize = 500

/**
 * Publishes each committed event to its client's feed, until it is stopped. One process does so, by
 * lease. The lease only saves work; the order is correct without it.
 * @param context with the gate of a sandbox: an event that was read before a restore must not be
 *   published after it. The audit log has its entry already, and would never take another one.
 */
export async function publishEvents(
  { database, gate, observe, rests }: EventContext & { readonly gate: PublicationGate | null },
  stop: AbortSignal,
): Promise<void> {
  const holder = randomUUID()
  const rest = rests.begin(() => longestRestMs(database))
  let renewAtMs = 0
  while (!stop.aborted) {
    try {
      if (performance.now() >= renewAtMs) {
        if (!(await claimLease(database, leaseName, holder, leaseSeconds))) {
          await pause(standByMs, stop)
          continue
        }
        renewAtMs = performance.now() + renewAfterMs
      }
      const leaveGate = await gate?.enter()
      const published = await publishBatch(database).finally(leaveGate)
      // The new events may have deliveries.
      if (published > 0) rests.wake()
      if (published < batchSize) await rest(published > 0, stop)
    } catch (error) {
      observe.faulted(error, 'events could not be published')
      renewAtMs = 0
      await pause(standByMs, stop)
    }
  }
  await releaseLease(database, leaseName, holder).catch(() => undefined)
}

/**
 * Publishes unpublished events, oldest first, at least a batch if there are enough. Events that
 * cannot be published now are skipped.
 * @returns their number.
 * @throws AggregateError of the clients whose events could not be published, after those of all
 *   others were.
 */
export async function publishBatch(database: Database, size = batchSize): Promise<number> {
  const faults = new Map<string, unknown>()
  let published = 0
  for (let after = storedEvents.outboxStart; published < size; ) {
    const listed = await storedEvents.listUnpublishedEvents(
      database,
      after,
      [...faults.keys()],
      size,
    )
    const ready = new Set<string>()
    // Without the events whose predecessor on the card is unpublished: these follow in the next
    // batch.
    const inOrder = listed.filter(({ followsUnpublished, publicToken, sequence }) => {
      if (followsUnpublished && !ready.has(`${publicToken} ${sequence - 1}`)) return false
      ready.add(`${publicToken} ${sequence}`)
      return true
    })
    for (const [clientId, events] of Map.groupBy(inOrder, (event) => event.clientId)) {
      try {
        await storedEvents.insertPublishedEvents(database, clientId, events)
        await storedEvents.markPublished(database, events)
        published += events.length
      } catch (error) {
        faults.set(clientId, error)
      }
    }
    const last = listed.at(-1)
    if (listed.length < size || !last) break
    after = last
  }
  if (faults.size > 0) {
    const [cause] = faults.values()
    throw new AggregateError(faults.values(), 'Some events could not be published.', { cause })
  }
  return published
}
