import { CallFailed } from '../errors.ts'

/** One request, as it goes out. */
export interface Outgoing {
  readonly url: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** Ends the attempt from outside: its reason is thrown as it is. */
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs: number
}

/** One answer, whatever its status. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** An answer whose body comes for as long as it comes; a refusal is read, and has none. */
export interface OpenAnswer extends Answer {
  readonly body: ReadableStream<Uint8Array> | null
}

type Fetch = typeof globalThis.fetch

/**
 * Sends once and reads the whole answer.
 * @throws CallFailed `connection_failed`, `timed_out`, `unexpected_answer`; or the reason of the signal.
 */
export const attempt = (fetch: Fetch, request: Outgoing): Promise<Answer> =>
  withDeadline(request, async (signal) => {
    const response = await send(fetch, request, signal)
    return { status: response.status, headers: response.headers, text: await readText(response) }
  })

/** Sends once and leaves a success to be read: the time-out is for its head. @throws CallFailed */
export const openAttempt = (fetch: Fetch, request: Outgoing): Promise<OpenAnswer> =>
  withDeadline(request, async (signal) => {
    const response = await send(fetch, request, signal)
    const { body, headers, ok, status } = response
    return ok
      ? { status, headers, text: '', body }
      : { status, headers, text: await readText(response), body: null }
  })

/** A redirect would carry the token, or a PIN, to somewhere else: it is an answer, and no success. */
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

/** Sixteen times what the service's longest page takes. */
const longestBytes = 8 * 1_048_576

/** The whole text of an answer. @throws CallFailed `unexpected_answer` for one that is too long. */
export async function readText({ body, status }: Response): Promise<string> {
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
    // What was read to its end has nothing to cancel; the rest is not waited for.
    void reader.cancel().catch(() => undefined)
  }
}

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
