import { CallFailed, Problem } from '../errors.ts'

/** An outgoing request. */
export interface Outgoing {
  readonly url: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** Aborts the attempt: its reason is thrown unchanged. */
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs: number
}

/** An answer with any status. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** An answer with an open body; the body of a refusal is read already. */
export interface OpenAnswer extends Answer {
  readonly body: ReadableStream<Uint8Array> | null
}

type Fetch = typeof globalThis.fetch

/**
 * Sends once and reads the whole answer.
 * @throws CallFailed `connection_failed`, `timed_out`, `unexpected_answer`; or the signal's reason.
 */
export const attempt = (fetch: Fetch, request: Outgoing): Promise<Answer> =>
  withDeadline(request, async (signal) => {
    const response = await send(fetch, request, signal)
    return { status: response.status, headers: response.headers, text: await readText(response) }
  })

/**
 * Sends once and returns a success with an open body: the time limit ends with the head.
 * @throws CallFailed
 */
export const openAttempt = (fetch: Fetch, request: Outgoing): Promise<OpenAnswer> =>
  withDeadline(request, async (signal) => {
    const response = await send(fetch, request, signal)
    const { body, headers, ok, status } = response
    return ok
      ? { status, headers, text: '', body }
      : { status, headers, text: await readText(response), body: null }
  })

/** Does not follow a redirect, which would send the token or a PIN elsewhere. */
const send = (
  fetch: Fetch,
  { body, headers, method, url }: Outgoing,
  signal: AbortSignal,
): Promise<Response> =>
  fetch(url, {
    method,
    headers: { ...headers },
    ...(body !== undefined && { body }),
    redirect: 'manual',
    signal,
  })

/** Sixteen times the service's longest page. */
const longestBytes = 8 * 1_048_576

/** Reads the whole text of an answer. @throws CallFailed `unexpected_answer` if it is too long. */
async function readText({ body, status }: Response): Promise<string> {
  if (!body) return ''
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return text + decoder.decode()
      bytes += value.byteLength
      if (bytes > longestBytes) throw new CallFailed('unexpected_answer', { status })
      text += decoder.decode(value, { stream: true })
    }
  } finally {
    // Cancels the rest without waiting; a fully read body has none.
    void reader.cancel().catch(() => undefined)
  }
}

export interface Deadline {
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

/**
 * Runs work on the network until it ends, its time limit passes, or the caller aborts it.
 * @throws CallFailed `connection_failed`, `timed_out`; or the reason of the caller's signal.
 */
export async function withDeadline<Result>(
  { signal, timeoutMs }: Deadline,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  signal?.throwIfAborted()
  const ending = new AbortController()
  // Not `AbortSignal.timeout` and `AbortSignal.any`: their signals may be garbage-collected early.
  const timer = setTimeout(() => ending.abort(), timeoutMs)
  const stop = () => ending.abort()
  // A foreign `fetch` may ignore the signal.
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

/** Codes of refusals before any effect. */
const refusedBefore = new Set(['rate_limited', 'unavailable'])

/**
 * Whether a repeat is safe.
 * @param isRepeatable whether a second arrival has no second effect: a read, or a request with a
 *   key. Otherwise only a request that was refused before any effect is repeated.
 */
export function mayRepeat(error: unknown, isRepeatable: boolean): boolean {
  if (error instanceof Problem) {
    if (refusedBefore.has(error.code)) return true
    // The first attempt may still run at the service. Its answer is available a little later.
    return isRepeatable && (error.status >= 500 || error.code === 'idempotency_key_in_use')
  }
  if (!(error instanceof CallFailed) || !isRepeatable) return false
  const isLost = error.code === 'connection_failed' || error.code === 'timed_out'
  return isLost || error.status === 429 || (error.status ?? 0) >= 500
}

export interface Patience {
  /** Retries after the first attempt. */
  readonly retries: number
  readonly isRepeatable: boolean
  readonly signal?: AbortSignal | undefined
}

/** A longer wait requested by the service is left to the caller. */
const longestWaitMs = 30_000

/** Repeats the work until it succeeds or a repeat is not safe. */
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

/**
 * Returns the wait that the service requested; otherwise a random one below a limit that doubles
 * each time.
 */
export function waitAfter(error: unknown, failures: number): number {
  const isTold = error instanceof Problem || error instanceof CallFailed
  if (isTold && error.retryAfterSeconds !== undefined) return error.retryAfterSeconds * 1_000
  const ceilingMs = Math.min(8_000, 250 * 2 ** failures)
  return ceilingMs * (0.5 + Math.random() / 2)
}

/** A timer with a larger value fires at once. */
const longestTimerMs = 2 ** 31 - 1

/** @throws the reason of the signal as soon as it is aborted. */
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
