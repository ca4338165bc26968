import { randomUUID } from 'node:crypto'
import { claimQueues } from '../storage/delivery-queues.ts'
import { type Delivering, leaseSecondsOf } from './delivering.ts'
import { type ClaimedQueue, drain } from './drain.ts'
import { pause, type Stopping } from './pause.ts'

/** Endpoints that a process drains at once. Those that fail have room of their own. */
const endpointsMax = { healthy: 64, failing: 16 } as const

/** So many are taken at a time, now and then by chance: the processes share what is due. */
const claimsMax = 8
const pollMs = 100

/** Drains endpoints, side by side with every other process, until it is stopped. */
export async function drainQueues(delivering: Delivering, stopping: Stopping): Promise<void> {
  const drains = { healthy: new Set<Promise<void>>(), failing: new Set<Promise<void>>() }
  while (!stopping.stop.aborted) {
    for (const kind of ['healthy', 'failing'] as const) {
      const limit = Math.min(claimsMax, endpointsMax[kind] - drains[kind].size)
      for (const claimed of await claim(delivering, kind === 'failing', limit)) {
        const draining = drainOne(delivering, claimed, stopping).finally(() => {
          drains[kind].delete(draining)
        })
        drains[kind].add(draining)
      }
    }
    await pause(pollMs * (0.5 + Math.random()), stopping.stop)
  }
  await Promise.all([...drains.healthy, ...drains.failing])
}

async function claim(
  delivering: Delivering,
  failing: boolean,
  limit: number,
): Promise<ClaimedQueue[]> {
  if (limit === 0) return []
  // Of this claim alone: what an earlier one let lapse is another's.
  const holder = randomUUID()
  const seconds = leaseSecondsOf(delivering)
  try {
    const claimed = await claimQueues(delivering.database, holder, { failing, limit }, seconds)
    return claimed.map(({ failuresInRow, ...reference }) => ({ reference, holder, failuresInRow }))
  } catch (error) {
    delivering.observe.faulted(error, 'endpoints could not be claimed')
    return []
  }
}

async function drainOne(
  delivering: Delivering,
  claimed: ClaimedQueue,
  stopping: Stopping,
): Promise<void> {
  try {
    await drain(delivering, claimed, stopping)
  } catch (error) {
    delivering.observe.faulted(error, 'deliveries were broken off')
  }
}
