import { CallFailed } from '../errors/call-failed.ts'

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

/**
 * Sends once and reads the whole answer.
 * @throws CallFailed `connection_failed`, `timed_out`; or the reason of the signal.
 */
export async function attempt(fetch: typeof globalThis.fetch, call: Outgoing): Promise<Answer> {
  const timeout = AbortSignal.timeout(call.timeoutMs)
  const signal = call.signal ? AbortSignal.any([call.signal, timeout]) : timeout
  try {
    const response = await fetch(call.url, initOf(call, signal))
    return { status: response.status, headers: response.headers, text: await response.text() }
  } catch (cause) {
    call.signal?.throwIfAborted()
    throw new CallFailed(timeout.aborted ? 'timed_out' : 'connection_failed', { cause })
  }
}

/** What `fetch` is given. A redirect would carry the token, or a PIN, to somewhere else. */
export const initOf = (
  { body, headers, method }: Outgoing,
  signal: AbortSignal,
): RequestInit & { signal: AbortSignal } => ({
  method,
  headers: { ...headers },
  ...(body !== undefined && { body }),
  redirect: 'error',
  signal,
})
