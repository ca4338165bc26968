import { setImmediate as turnOfEventLoop } from 'node:timers/promises'

/**
 * What a turn on the connection came to, and whether it committed anything that is not on the disk
 * yet.
 */
export interface TurnEnd<Result> {
  readonly result: Result
  readonly isUnsynced: boolean
}

interface GroupCommitOptions {
  /** Puts on the disk all that was committed. */
  sync(): Promise<void>
  /** How long what is committed may wait for others; 25 milliseconds unless it is given. */
  readonly togetherMaxMs?: number
}

/** How long this process may work for the database without looking at anything else. */
const breathAfterMs = 10

/**
 * Turns on one connection, in the order in which they were asked for. The disk is asked once for
 * all that was committed while others waited for their turn, as a server does it for those that
 * commit at the same time. Nothing is answered before what it may rest on is on the disk: neither a
 * commit, nor a read or a failure that came after one.
 */
export function createGroupCommit({ sync, togetherMaxMs = 25 }: GroupCommitOptions): {
  take<Result>(turn: () => Promise<TurnEnd<Result>>): Promise<Result>
} {
  const waiting: (() => Promise<void>)[] = []
  const commits = collectCommits(sync)
  const breathe = breather()
  let isRunning = false

  async function runAll(): Promise<void> {
    if (isRunning) return
    isRunning = true
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      await breathe(breathAfterMs)
      await next()
      // Whoever has just got an answer asks for the next turn in a moment.
      if (commits.ageMs() !== null && waiting.length === 0) await breathe(0)
      const ageMs = commits.ageMs()
      if (ageMs !== null && (waiting.length === 0 || ageMs >= togetherMaxMs)) await commits.sync()
    }
    isRunning = false
  }

  return {
    take: (turn) =>
      new Promise((resolve, reject) => {
        waiting.push(async () => {
          try {
            const { isUnsynced, result } = await turn()
            if (isUnsynced) commits.add()
            settleAfter(commits.synced(), () => resolve(result), reject)
          } catch (error) {
            settleAfter(commits.synced(), () => reject(error), reject)
          }
        })
        void runAll()
      }),
  }
}

/** What is committed and not on the disk yet. */
function collectCommits(sync: () => Promise<void>) {
  let nextSync: PromiseWithResolvers<void> | null = null
  let sinceMs: number | null = null
  return {
    add() {
      sinceMs ??= performance.now()
    },
    /** For how long the oldest of them has waited; null where there is none. */
    ageMs: () => (sinceMs === null ? null : performance.now() - sinceMs),
    /** Resolves when all that was committed until now is on the disk; null where it is. */
    synced(): Promise<void> | null {
      if (sinceMs === null) return null
      nextSync ??= Promise.withResolvers()
      return nextSync.promise
    },
    async sync(): Promise<void> {
      const waiting = nextSync
      nextSync = null
      try {
        await sync()
        sinceMs = null
        waiting?.resolve()
      } catch (error) {
        waiting?.reject(error)
      }
    },
  }
}

/**
 * The engine answers without ever waiting, so a burst would keep timers and sockets waiting until
 * its end: now and then the event loop gets its turn.
 */
function breather(): (afterMs: number) => Promise<void> {
  let breathedAtMs = performance.now()
  return async (afterMs) => {
    if (performance.now() - breathedAtMs < afterMs) return
    await turnOfEventLoop()
    breathedAtMs = performance.now()
  }
}

function settleAfter(
  synced: Promise<void> | null,
  settle: () => void,
  refuse: (error: unknown) => void,
): void {
  if (synced) void synced.then(settle, refuse)
  else settle()
}
