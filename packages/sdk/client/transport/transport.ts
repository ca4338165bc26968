import { CallFailed } from '../errors.ts'
import { checkPatience, type Settings } from '../options.ts'
import { type Answer, type OpenAnswer, type Outgoing, repeat } from './attempt.ts'
import { parseProblem, type QueryValues } from './content.ts'
import { createExchange, type Request } from './exchange.ts'

/** The options of every call. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** For each attempt. */
  readonly timeoutMs?: number | undefined
  /** Retries after the first attempt. */
  readonly retries?: number | undefined
  /** Called with the head of each successful answer, such as for its `requestId`. */
  readonly onAnswer?: ((head: AnswerHead) => void) | undefined
}

/** The metadata of a successful answer. */
export interface AnswerHead {
  readonly status: number
  /** Identifies the request for the operator. */
  readonly requestId: string | undefined
  readonly headers: Headers
}

/** A request without an address and a token. */
export interface Call extends CallOptions {
  readonly method: Outgoing['method']
  readonly path: Path
  readonly query?: QueryValues | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: unknown
  /** Whether a second arrival has no second effect. */
  readonly isRepeatable: boolean
}

/** Sends requests with a token, and repeats them when it is safe. */
export interface Transport {
  /** @throws PinfoldError unless it succeeds. */
  send(call: Call): Promise<Answer>
  /**
   * Sends once and returns an open body.
   * @throws PinfoldError unless it succeeds.
   */
  open(call: Call): Promise<OpenAnswer>
}

/** The version of the interface that the types describe. */
const apiVersion = '2026-11-20'

export function createTransport(settings: Settings): Transport {
  const exchange = createExchange(settings)
  const createRequest = (call: Call): Request => ({
    url: composeUrl(settings.base, call),
    method: call.method,
    headers: { accept: 'application/json', 'api-version': apiVersion, ...call.headers },
    body: call.body === undefined ? undefined : JSON.stringify(call.body),
    signal: call.signal,
    timeoutMs: call.timeoutMs,
  })
  return {
    async send(call) {
      const request = createRequest(call)
      checkPatience(call)
      // Before the attempts of the call, since the retries of the token request must not multiply
      // with them.
      await exchange.authenticate(call.signal)
      const answer = await repeat(
        { ...call, retries: call.retries ?? settings.retries },
        async () => requireSuccess(await exchange.send(request)),
      )
      const { headers, status } = answer
      call.onAnswer?.({ status, headers, requestId: headers.get('x-request-id') ?? undefined })
      return answer
    },
    async open(call) {
      const request = createRequest(call)
      checkPatience(call)
      return requireSuccess(await exchange.open(request))
    },
  }
}

function requireSuccess<Reply extends Answer>(reply: Reply): Reply {
  if (reply.status >= 300) throw parseProblem(reply)
  return reply
}

function composeUrl(base: string, { path, query = {} }: Call): string {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) given.set(name, String(value))
  }
  return given.size === 0 ? `${base}${path()}` : `${base}${path()}?${given}`
}

declare const encoded: unique symbol

/** Builds a path below `T` with encoded variable parts. Only the tag creates one. */
export type Path = (() => string) & { readonly [encoded]: true }

/**
 * ``path`/cards/${publicToken}` ``: each part stays one segment. Built during the call, so that a
 * fault rejects the call.
 * @throws CallFailed `invalid_argument` for a part that is not text, is empty, or consists of dots.
 */
export function path(texts: TemplateStringsArray, ...parts: readonly string[]): Path {
  const write = () => String.raw({ raw: texts }, ...parts.map(segment))
  return write as Path
}

function segment(part: unknown): string {
  if (typeof part !== 'string' || part === '' || part === '.' || part === '..') {
    throw new CallFailed('invalid_argument', {
      detail: 'A parameter of the path must be a string.',
    })
  }
  return encodeURIComponent(part)
}
