import { randomUUID } from 'node:crypto'
import { claimQueues } from '../../storage/webhooks/queues.ts'
import { expireRegularly } from '../events/expire.ts'
import { longestRestMs, publishEvents } from '../events/publish.ts'
import { computeLeaseSeconds, type DeliveryContext, type Stopping } from './delivery-context.ts'
import { drainQueue } from './drain.ts'

/** How long requests on their way may take when the process is to end. */
const graceMs = 2_000

/** Delivering, as it runs. */
export interface RunningDelivery {
  /** Starts nothing more, waits a moment for what is on its way, releases every lease. */
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

/** Endpoints that a process drains at once. Those that fail have room of their own. */
const endpointsMax = { healthy: 64, failing: 16 } as const
/** So many are claimed at a time, now and then by chance: the processes share what is due. */
const claimsMax = 8

/** Drains endpoints, side by side with every other process, until it is stopped. */
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
      // Of this claim alone: what an earlier one let lapse is another's.
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
