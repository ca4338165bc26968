import { CallFailed } from '../errors.ts'
import { checkPatience, type Settings } from '../options.ts'
import { type Answer, type OpenAnswer, type Outgoing, repeat } from './attempt.ts'
import { parseProblem, type QueryValues } from './content.ts'
import { createExchange, type Request } from './exchange.ts'

/** What a caller may say of any call. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** For each try. */
  readonly timeoutMs?: number | undefined
  /** Tries after the first. */
  readonly retries?: number | undefined
  /** Called with the head of each successful answer, such as for its `requestId`. */
  readonly onAnswer?: ((head: AnswerHead) => void) | undefined
}

/** What a successful answer says beside its content. */
export interface AnswerHead {
  readonly status: number
  /** What the operator needs to find the request. */
  readonly requestId: string | undefined
  readonly headers: Headers
}

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
  /**
   * Sends once, and leaves the body to be read.
   * @throws PinfoldError for whatever is not a success.
   */
  open(call: Call): Promise<OpenAnswer>
}

/** The version of the interface that the types are of. */
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
      // Before the tries of the call: asking for a token has tries of its own, and is not to have
      // their product.
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

/** Writes a path below `T` whose variable parts are encoded. Only the tag makes one. */
export type Path = (() => string) & { readonly [encoded]: true }

/**
 * ``path`/cards/${publicToken}` ``: whatever a part holds, it stays one segment. It is written when
 * the call is made, so that what is wrong with it is a rejection of the call.
 * @throws CallFailed `invalid_argument` for a part that is no text, is empty, or would climb.
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
