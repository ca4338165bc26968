import { CallFailed } from '../errors/call-failed.ts'
import { problemOf } from '../errors/problem-of.ts'
import type { Settings } from '../options.ts'
import { createTokenSource } from '../token/token-source.ts'
import { type Answer, attempt, initOf, type Outgoing } from './attempt.ts'
import type { Path } from './path.ts'
import { repeat } from './repeat.ts'

/** What a caller may say of any call. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** For each try. */
  readonly timeoutMs?: number | undefined
  /** Tries after the first. */
  readonly retries?: number | undefined
}

export type QueryValues = Readonly<Record<string, string | number | undefined>>

/** A request, before it has an address and a token. */
export interface Call extends CallOptions {
  readonly method: Outgoing['method']
  readonly path: Path
  readonly query?: QueryValues | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: unknown
  /** Whether a second arrival has no second effect. */
  readonly isRepeatable: boolean
}

/** Sends with a token, as often as is right. */
export interface Transport {
  /** @throws PinfoldError for whatever is not a success. */
  send(call: Call): Promise<Answer>
  /** Opens once, and leaves the body to be read. */
  open(call: Call): Promise<Response>
}

/** The version of the interface that the types are of. */
const apiVersion = '2026-11-20'

export function createTransport(settings: Settings): Transport {
  const { fetch, retries, timeoutMs } = settings
  const tokens = createTokenSource(settings)
  const outgoing = (call: Call, token: string): Outgoing => ({
    url: urlOf(settings.base, call),
    method: call.method,
    headers: headersOf(call, token),
    body: call.body === undefined ? undefined : JSON.stringify(call.body),
    signal: call.signal,
    timeoutMs: call.timeoutMs ?? timeoutMs,
  })
  // A token that the service does not know any more is refused before anything is done.
  const withToken = async <Reply extends { readonly status: number }>(
    call: Call,
    work: (request: Outgoing) => Promise<Reply>,
  ): Promise<Reply> => {
    const token = await tokens.current(call.signal)
    const reply = await work(outgoing(call, token))
    if (reply.status !== 401) return reply
    tokens.forget(token)
    return work(outgoing(call, await tokens.current(call.signal)))
  }
  return {
    send: (call) =>
      repeat({ ...call, retries: call.retries ?? retries }, async () => {
        const answer = await withToken(call, (request) => attempt(fetch, request))
        if (answer.status >= 300) throw problemOf(answer)
        return answer
      }),
    async open(call) {
      const response = await withToken(call, (request) => openOnce(fetch, request))
      if (response.ok) return response
      const { headers, status } = response
      throw problemOf({ headers, status, text: await response.text() })
    },
  }
}

/** The time-out is for the head of the answer: the body comes for as long as it comes. */
async function openOnce(fetch: Settings['fetch'], request: Outgoing): Promise<Response> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), request.timeoutMs)
  const signals = [late.signal, ...(request.signal ? [request.signal] : [])]
  try {
    return await fetch(request.url, initOf(request, AbortSignal.any(signals)))
  } catch (cause) {
    request.signal?.throwIfAborted()
    throw new CallFailed(late.signal.aborted ? 'timed_out' : 'connection_failed', { cause })
  } finally {
    clearTimeout(timer)
  }
}

function urlOf(base: string, { path, query = {} }: Call): string {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) given.set(name, String(value))
  }
  return given.size === 0 ? `${base}${path}` : `${base}${path}?${given}`
}

const headersOf = ({ body, headers }: Call, token: string): Record<string, string> => ({
  accept: 'application/json',
  'api-version': apiVersion,
  authorization: `Bearer ${token}`,
  ...(body !== undefined && { 'content-type': 'application/json' }),
  ...headers,
})
