import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../storage/engine/database.ts'

/**
 * The pauses of background work that looks for something to do, in a process whose own changes may
 * cause work.
 */
export interface Rests {
  /** Ends the pauses, because this process changed something. */
  wake(): void
  /**
   * @param longestMs the longest pause while there is no work.
   * @returns the pauses of one background job.
   */
  begin(longestMs: () => number): Rest
}

/**
 * Pauses for about a tenth of a second after work, and longer each time without work.
 * A change in this process, or a stop, ends the pause.
 */
type Rest = (found: boolean, stop: AbortSignal) => Promise<void>

export const shortestRestMs = 100

/** @param growth the factor between a pause and the next one. */
export function createRests(growth = 1.5): Rests {
  const resting = new Set<() => void>()
  let changes = 0
  return {
    wake() {
      changes += 1
      for (const end of resting) end()
    },
    begin(longestMs) {
      let restMs = shortestRestMs
      let seen = 0
      return async (found, stop) => {
        const isShort = found || changes !== seen
        restMs = isShort ? shortestRestMs : Math.min(restMs * growth, longestMs())
        const before = changes
        // Random, so that processes that started together do not stay synchronized.
        await pause(shortestRestMs * (0.5 + Math.random()), stop)
        const moreMs = restMs - shortestRestMs
        if (moreMs > 0 && changes === before && !stop.aborted) {
          await pauseUntilWoken(resting, moreMs, stop)
        }
        seen = changes
      }
    },
  }
}

/** Wraps a database so that each change ends the rests. */
export const wakingDatabase = (database: Database, rests: Pick<Rests, 'wake'>): Database => {
  const waking = async <Result>(changed: Promise<Result>): Promise<Result> => {
    const result = await changed
    rests.wake()
    return result
  }
  const changing: Pick<Database, 'change' | 'transaction'> = {
    change: (...asked) => waking(database.change(...asked)),
    transaction: (work) => waking(database.transaction(work)),
  }
  // Everything else is inherited from the database itself, not copied.
  return Object.assign(Object.create(database) as Database, changing)
}

/** Waits for a time, or until it is stopped. */
export async function pause(milliseconds: number, stop: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal: stop }).catch(() => undefined)
}

async function pauseUntilWoken(
  resting: Set<() => void>,
  milliseconds: number,
  stop: AbortSignal,
): Promise<void> {
  const woken = new AbortController()
  const end = () => woken.abort()
  resting.add(end)
  await pause(milliseconds, AbortSignal.any([stop, woken.signal]))
  resting.delete(end)
}
