import { readText } from './read-text.ts'
import { withDeadline } from './with-deadline.ts'

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
