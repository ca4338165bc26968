import { CallFailed, Problem } from '../errors.ts'

/** The service says so before it does anything. */
const refusedBefore = new Set(['rate_limited', 'unavailable'])

/**
 * Whether sending the same again is right.
 * @param isRepeatable whether a second arrival has no second effect: a read, or a key with it. Otherwise
 * only a request that was refused before anything was done is repeated.
 */
export function mayRepeat(error: unknown, isRepeatable: boolean): boolean {
  if (error instanceof Problem) {
    if (refusedBefore.has(error.code)) return true
    // The first try still runs: it was given up here, not there. Its answer can be had a little later.
    return isRepeatable && (error.status >= 500 || error.code === 'idempotency_key_in_use')
  }
  if (!(error instanceof CallFailed) || !isRepeatable) return false
  const isLost = error.code === 'connection_failed' || error.code === 'timed_out'
  return isLost || error.status === 429 || (error.status ?? 0) >= 500
}

export interface Patience {
  /** How many times more, after the first try. */
  readonly retries: number
  readonly isRepeatable: boolean
  readonly signal?: AbortSignal | undefined
}

/** What the service asks to wait beyond this is left to the caller. */
const longestWaitMs = 30_000

/** Does the work until it succeeds, or until trying again would not be right. */
export async function repeat<Result>(
  { isRepeatable, retries, signal }: Patience,
  work: () => Promise<Result>,
): Promise<Result> {
  for (let failures = 0; ; failures += 1) {
    try {
      return await work()
    } catch (error) {
      const waitMs = waitAfter(error, failures)
      if (failures >= retries || waitMs > longestWaitMs || !mayRepeat(error, isRepeatable)) {
        throw error
      }
      await pause(waitMs, signal)
    }
  }
}

/** As long as the service says, or else twice as long each time, at random below that. */
export function waitAfter(error: unknown, failures: number): number {
  const isTold = error instanceof Problem || error instanceof CallFailed
  if (isTold && error.retryAfterSeconds !== undefined) return error.retryAfterSeconds * 1_000
  const ceilingMs = Math.min(8_000, 250 * 2 ** failures)
  return ceilingMs * (0.5 + Math.random() / 2)
}

/** A timer that is set to more does not wait at all. */
const longestTimerMs = 2 ** 31 - 1

/** @throws the reason of the signal, as soon as it is aborted. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', stop)
        resolve()
      },
      Math.min(ms, longestTimerMs),
    )
    signal?.addEventListener('abort', stop, { once: true })
  })
}
