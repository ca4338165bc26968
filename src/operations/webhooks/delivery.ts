import { randomUUID } from 'node:crypto'
import { claimQueues } from '../../storage/webhooks/queues.ts'
import { expireRegularly } from '../events/expire.ts'
import { longestRestMs, publishEvents } from '../events/publish.ts'
import { computeLeaseSeconds, type DeliveryContext, type Stopping } from './delivery-context.ts'
import { drainQueue } from './drain.ts'

/** How long running requests may take before the process ends. */
const graceMs = 2_000

/** The running delivery of webhooks. */
export interface RunningDelivery {
  /** Starts no new requests, waits briefly for running ones, and releases every lease. */
  stop(): Promise<void>
}

/** Publishes events, delivers them and deletes expired ones until it is stopped. */
export function startDelivery(context: DeliveryContext): RunningDelivery {
  const stop = new AbortController()
  const cut = new AbortController()
  const running = Promise.all([
    publishEvents(context, stop.signal),
    drainQueues(context, { stop: stop.signal, cut: cut.signal }),
    expireRegularly(context, stop.signal),
  ])
  return {
    async stop() {
      stop.abort()
      const cutting = setTimeout(() => cut.abort(), graceMs)
      await running
      clearTimeout(cutting)
    },
  }
}

/**
 * The maximum number of endpoints that a process delivers to at once. Failing endpoints have a
 * separate limit.
 */
const endpointsMax = { healthy: 64, failing: 16 } as const
/** The maximum number of claims at a time. The time is random, so that processes share the work. */
const claimsMax = 8

/** Delivers to endpoints, concurrently with other processes, until it is stopped. */
async function drainQueues(context: DeliveryContext, stopping: Stopping): Promise<void> {
  const { database, observe, rests } = context
  const rest = rests.begin(() => longestRestMs(database))
  const seconds = computeLeaseSeconds(context)
  const drains = { healthy: new Set<Promise<void>>(), failing: new Set<Promise<void>>() }
  while (!stopping.stop.aborted) {
    let isSome = false
    for (const kind of ['healthy', 'failing'] as const) {
      const limit = Math.min(claimsMax, endpointsMax[kind] - drains[kind].size)
      if (limit === 0) continue
      // A holder for this claim only: an earlier claim that expired belongs to another process.
      const holder = randomUUID()
      const wanted = { failing: kind === 'failing', limit }
      try {
        for (const claimed of await claimQueues(database, holder, wanted, seconds)) {
          isSome = true
          const draining = drainQueue(context, { ...claimed, holder }, stopping)
            .catch((error: unknown) => observe.faulted(error, 'deliveries were interrupted'))
            .finally(() => {
              drains[kind].delete(draining)
            })
          drains[kind].add(draining)
        }
      } catch (error) {
        observe.faulted(error, 'endpoints could not be claimed')
      }
    }
    await rest(isSome, stopping.stop)
  }
  await Promise.all([...drains.healthy, ...drains.failing])
}
