import { randomUUID } from 'node:crypto'
import type { Database } from '../../storage/engine/database.ts'
import { claimLease, releaseLease } from '../../storage/engine/leases.ts'
import {
  listUnplacedEvents,
  markPlaced,
  outboxStart,
  insertFeedEvents as placeEventsOfClient,
  type UnplacedEvent,
} from '../../storage/events/publish.ts'
import { type DeliveryContext, pause } from '../webhooks/delivery.ts'

const leaseName = 'place-events'
const leaseSeconds = 5
const renewAfterMs = 1_500
const pollMs = 100
/** How long a process waits that is not the one to place. */
const standByMs = 1_000
/** Events that are looked at together. */
const batchSize = 500

/**
 * Gives each event its place after it was committed, until it is stopped. One process does, by lease.
 * The lease spares work; the order holds without it.
 */
export async function publishEvents(
  { database, observe }: DeliveryContext,
  stop: AbortSignal,
): Promise<void> {
  const holder = randomUUID()
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
      const placed = await publishBatch(database)
      if (placed < batchSize) await pause(pollMs, stop)
    } catch (error) {
      observe.faulted(error, 'events could not be placed')
      renewAtMs = 0
      await pause(standByMs, stop)
    }
  }
  await releaseLease(database, leaseName, holder).catch(() => undefined)
}

/**
 * Places events that are not placed, the oldest first: at least as many as are looked at together, where
 * there are. What cannot be placed now is passed over, however much it is. @returns how many.
 * @throws AggregateError of the clients whose events could not be placed, after all the others' are.
 */
export async function publishBatch(database: Database, size = batchSize): Promise<number> {
  const faults = new Map<string, unknown>()
  let placed = 0
  for (let after = outboxStart; placed < size; ) {
    const listed = await listUnplacedEvents(database, after, [...faults.keys()], size)
    for (const [clientId, ofClient] of Map.groupBy(inOrder(listed), (event) => event.clientId)) {
      await placeOf(database, clientId, ofClient).then(
        () => {
          placed += ofClient.length
        },
        (error: unknown) => faults.set(clientId, error),
      )
    }
    const last = listed.at(-1)
    if (listed.length < size || !last) break
    after = last
  }
  if (faults.size > 0) {
    const [cause] = faults.values()
    throw new AggregateError(faults.values(), 'Not all events could be placed.', { cause })
  }
  return placed
}

async function placeOf(
  database: Database,
  clientId: string,
  events: readonly UnplacedEvent[],
): Promise<void> {
  await placeEventsOfClient(database, clientId, events)
  await markPlaced(database, events)
}

/** Without those whose predecessor on the card is not placed before them: their turn is the next. */
function inOrder(events: readonly UnplacedEvent[]): UnplacedEvent[] {
  const kept = new Set<string>()
  return events.filter(({ followsUnplaced, publicToken, sequence }) => {
    if (followsUnplaced && !kept.has(`${publicToken} ${sequence - 1}`)) return false
    kept.add(`${publicToken} ${sequence}`)
    return true
  })
}
