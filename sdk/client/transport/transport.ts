import { problemOf } from '../errors/problem-of.ts'
import { checkPatience, type Settings } from '../options.ts'
import { createTokenSource } from '../token/token-source.ts'
import { type Answer, attempt, type OpenAnswer, type Outgoing, openAttempt } from './attempt.ts'
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
  /** Sends once, and leaves the body to be read. @throws PinfoldError for whatever is not a success. */
  open(call: Call): Promise<OpenAnswer>
}

/** The version of the interface that the types are of. */
const apiVersion = '2026-11-20'

export function createTransport(settings: Settings): Transport {
  const { fetch, retries, timeoutMs } = settings
  const tokens = createTokenSource(settings)
  const outgoing = (call: Call, url: string, token: string): Outgoing => ({
    url,
    method: call.method,
    headers: headersOf(call, token),
    body: call.body === undefined ? undefined : JSON.stringify(call.body),
    signal: call.signal,
    timeoutMs: call.timeoutMs ?? timeoutMs,
  })
  // A token that the service does not know any more is refused before anything is done.
  const withToken = async <Reply extends { readonly status: number }>(
    call: Call,
    url: string,
    work: (request: Outgoing) => Promise<Reply>,
  ): Promise<Reply> => {
    const token = await tokens.current(call.signal)
    const reply = await work(outgoing(call, url, token))
    if (reply.status !== 401) return reply
    tokens.forget(token)
    return work(outgoing(call, url, await tokens.current(call.signal)))
  }
  return {
    async send(call) {
      const url = urlOf(settings.base, call)
      checkPatience(call)
      // Before the tries of the call: asking for a token has tries of its own, and is not to have their product.
      await tokens.current(call.signal)
      return repeat({ ...call, retries: call.retries ?? retries }, async () =>
        successOf(await withToken(call, url, (request) => attempt(fetch, request))),
      )
    },
    async open(call) {
      const url = urlOf(settings.base, call)
      checkPatience(call)
      return successOf(await withToken(call, url, (request) => openAttempt(fetch, request)))
    },
  }
}

/** A redirect is none: where it is not shown to programs, its status is 0. */
function successOf<Reply extends Answer>(reply: Reply): Reply {
  if (reply.status < 200 || reply.status >= 300) throw problemOf(reply)
  return reply
}

function urlOf(base: string, { path, query = {} }: Call): string {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) given.set(name, String(value))
  }
  return given.size === 0 ? `${base}${path()}` : `${base}${path()}?${given}`
}

const headersOf = ({ body, headers }: Call, token: string): Record<string, string> => ({
  accept: 'application/json',
  'api-version': apiVersion,
  authorization: `Bearer ${token}`,
  ...(body !== undefined && { 'content-type': 'application/json' }),
  ...headers,
})
