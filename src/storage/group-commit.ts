import { setImmediate as turnOfEventLoop } from 'node:timers/promises'

/** What a turn on the connection came to, and whether it committed anything that is not on the disk yet. */
export interface TurnEnd<Result> {
  readonly result: Result
  readonly isUnsynced: boolean
}

export interface GroupCommitOptions {
  /** Puts on the disk all that was committed. */
  sync(): Promise<void>
  /** How long what is committed may wait for others; 25 milliseconds unless it is given. */
  readonly togetherMaxMs?: number
}

/** How long this process may work for the database without looking at anything else. */
const breathAfterMs = 10

/**
 * Turns on one connection, in the order in which they were asked for. The disk is asked once for all that
 * was committed while others waited for their turn, as a server does it for those that commit at the same
 * time. Nobody is told anything before what it may rest on is on the disk: neither of a commit, nor of a
 * read or a failure that came after one.
 */
export function createGroupCommit({ sync, togetherMaxMs = 25 }: GroupCommitOptions): {
  take<Result>(turn: () => Promise<TurnEnd<Result>>): Promise<Result>
} {
  const waiting: (() => Promise<void>)[] = []
  let untold: PromiseWithResolvers<void> | null = null
  let unsyncedSinceMs: number | null = null
  let isRunning = false
  let breathedAtMs = performance.now()

  /**
   * The engine answers without ever waiting, so a burst would keep timers and sockets waiting until its
   * end: now and then the event loop gets its turn.
   */
  async function breathe(afterMs: number): Promise<void> {
    if (performance.now() - breathedAtMs < afterMs) return
    await turnOfEventLoop()
    breathedAtMs = performance.now()
  }

  async function syncTogether(): Promise<void> {
    const told = untold
    untold = null
    try {
      await sync()
      unsyncedSinceMs = null
      told?.resolve()
    } catch (error) {
      told?.reject(error)
    }
  }

  const isSyncDue = () =>
    unsyncedSinceMs !== null &&
    (waiting.length === 0 || performance.now() - unsyncedSinceMs >= togetherMaxMs)

  async function syncIfDue(): Promise<void> {
    // Whoever has just been told something asks for the next turn in a moment.
    if (unsyncedSinceMs !== null && waiting.length === 0) await breathe(0)
    if (isSyncDue()) await syncTogether()
  }

  async function runAll(): Promise<void> {
    if (isRunning) return
    isRunning = true
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      await breathe(breathAfterMs)
      await next()
      await syncIfDue()
    }
    isRunning = false
  }

  /** Resolves when all that was committed until now is on the disk. */
  function synced(): Promise<void> | null {
    if (unsyncedSinceMs === null) return null
    untold ??= Promise.withResolvers()
    return untold.promise
  }

  return {
    take: (turn) =>
      new Promise((resolve, reject) => {
        waiting.push(async () => {
          try {
            const { isUnsynced, result } = await turn()
            if (isUnsynced) unsyncedSinceMs ??= performance.now()
            tellWhen(synced(), () => resolve(result), reject)
          } catch (error) {
            tellWhen(synced(), () => reject(error), reject)
          }
        })
        void runAll()
      }),
  }
}

function tellWhen(
  synced: Promise<void> | null,
  tell: () => void,
  refuse: (error: unknown) => void,
): void {
  if (synced) void synced.then(tell, refuse)
  else tell()
}
