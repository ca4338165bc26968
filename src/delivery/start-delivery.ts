import type { Delivering } from './delivering.ts'
import { drainQueues } from './drain-queues.ts'
import { placeEvents } from './place-events.ts'
import { pruneRegularly } from './prune.ts'

/** How long requests on their way may take when the process is to end. */
const graceMs = 2_000

/** Delivering, as it runs. */
export interface RunningDelivery {
  /** Starts nothing more, waits a moment for what is on its way, lets go of every lease. */
  stop(): Promise<void>
}

/** Places events, delivers them and forgets the old ones, until it is stopped. */
export function startDelivery(delivering: Delivering): RunningDelivery {
  const stop = new AbortController()
  const cut = new AbortController()
  const running = Promise.all([
    placeEvents(delivering, stop.signal),
    drainQueues(delivering, { stop: stop.signal, cut: cut.signal }),
    pruneRegularly(delivering, stop.signal),
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
