import { Problem } from '../../domain/problem.ts'

/**
 * Runs a few costly pieces of work at once and the others after them. Of the clients that wait, each gets
 * one run after the other, so that nobody waits for one client alone.
 */
export interface FairQueue {
  /** @throws `Problem` `rate_limited` when too many of the client's wait already. */
  run<Result>(clientId: string, work: () => Promise<Result>): Promise<Result>
}

interface FairQueueOptions {
  readonly runningMax: number
  readonly waitingMaxPerClient: number
}

/** A queue of this process. A client's oldest work is run first. */
export function createFairQueue({ runningMax, waitingMaxPerClient }: FairQueueOptions): FairQueue {
  // A map keeps the order in which its keys came: the first client is the next one.
  const waiting = new Map<string, (() => void)[]>()
  let free = runningMax

  function wait(clientId: string): Promise<void> {
    const own = waiting.get(clientId) ?? []
    if (own.length >= waitingMaxPerClient) {
      throw new Problem('rate_limited', {
        detail: `${waitingMaxPerClient} such calls may wait at once.`,
        retryAfterSeconds: 1,
      })
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    own.push(resolve)
    waiting.set(clientId, own)
    return promise
  }

  function startNext(): void {
    const [first] = waiting
    if (!first) {
      free += 1
      return
    }
    const [clientId, [start, ...others]] = first
    waiting.delete(clientId)
    if (others.length > 0) waiting.set(clientId, others)
    start?.()
  }

  return {
    async run(clientId, work) {
      if (free > 0) free -= 1
      else await wait(clientId)
      try {
        return await work()
      } finally {
        startNext()
      }
    },
  }
}
