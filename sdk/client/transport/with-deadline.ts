import { CallFailed } from '../errors/call-failed.ts'

export interface Deadline {
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

/**
 * Does work on the network until it is done, its time is over, or the caller gives up.
 * @throws CallFailed `connection_failed`, `timed_out`; or the reason of the caller's signal.
 */
export async function withDeadline<Result>(
  { signal, timeoutMs }: Deadline,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  signal?.throwIfAborted()
  const ending = new AbortController()
  // Not `AbortSignal.timeout` and `AbortSignal.any`: what they join may be collected before it ends.
  const timer = setTimeout(() => ending.abort(), timeoutMs)
  const stop = () => ending.abort()
  // What the work does with the signal is the business of a `fetch` that is not ours.
  const ended = new Promise<never>((_resolve, reject) => {
    ending.signal.addEventListener('abort', () => reject(ending.signal.reason), { once: true })
  })
  signal?.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([work(ending.signal), ended])
  } catch (cause) {
    signal?.throwIfAborted()
    if (cause instanceof CallFailed) throw cause
    throw new CallFailed(ending.signal.aborted ? 'timed_out' : 'connection_failed', { cause })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
  }
}
