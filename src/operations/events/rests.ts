import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../storage/engine/database.ts'

/**
 * Rests of work that looks for something to do, in a process whose own changes may give it some.
 */
export interface Rests {
  /** Ends the rests: something was changed in this process. */
  wake(): void
  /**
   * @param longestMs how long the work rests at most while it finds nothing.
   * @returns what one piece of work rests by.
   */
  begin(longestMs: () => number): Rest
}

/**
 * Rests a tenth of a second, or so, where there was something to do; and longer each time that
 * there was not, but no longer than until this process changes something, or the work is stopped.
 */
type Rest = (found: boolean, stop: AbortSignal) => Promise<void>

export const shortestRestMs = 100

/** @param growth how much longer each rest is than the one before. */
export function createRests(growth = 1.5): Rests {
  const resting = new Set<() => void>()
  let changes = 0
  return {
    wake() {
      changes += 1
      for (const end of resting) end()
    },
    begin(longestMs) {
      let [restMs, seen] = [shortestRestMs, 0]
      return async (found, stop) => {
        const isShort = found || changes !== seen
        restMs = isShort ? shortestRestMs : Math.min(restMs * growth, longestMs())
        const before = changes
        // By chance, so that processes that began at once do not look at once for ever.
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
  // All else is looked up in the database itself, not in a copy of it.
  return Object.assign(Object.create(database) as Database, changing)
}

/** Waits, but no longer than until it is stopped. */
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
