import { setImmediate as turnOfEventLoop } from 'node:timers/promises'

/** The result of a turn, and whether it committed data that is not yet on the disk. */
export interface TurnEnd<Result> {
  readonly result: Result
  readonly isUnsynced: boolean
}

interface GroupCommitOptions {
  /** Writes all committed data to the disk. */
  sync(): Promise<void>
  /** How long committed data may wait for further commits, in milliseconds; default 25. */
  readonly togetherMaxMs?: number
}

/** How long this process may work for the database before it yields to the event loop. */
const breathAfterMs = 10

/**
 * Runs turns on one connection in the order of their calls. One write to the disk serves all turns
 * that committed since the last one, as in the group commit of a server. No result is returned
 * before the data that it may depend on is on the disk; this includes reads and failures after a
 * commit.
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
      // Callers that have just got a result may call again at once.
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

/** Tracks the commits that are not yet on the disk. */
function collectCommits(sync: () => Promise<void>) {
  let nextSync: PromiseWithResolvers<void> | null = null
  let sinceMs: number | null = null
  return {
    add() {
      sinceMs ??= performance.now()
    },
    /** The age of the oldest of them in milliseconds; null without one. */
    ageMs: () => (sinceMs === null ? null : performance.now() - sinceMs),
    /** Resolves when all present commits are on the disk; null if they already are. */
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
 * Yields to the event loop at intervals: the engine works synchronously, so a burst would delay
 * timers and sockets until its end.
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
