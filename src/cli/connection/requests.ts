import { CallFailed } from '../../../packages/sdk/client/errors.ts'
import { parseSettings } from '../../../packages/sdk/client/options.ts'
import type { Answer, OpenAnswer } from '../../../packages/sdk/client/transport/attempt.ts'
import { withDeadline } from '../../../packages/sdk/client/transport/attempt.ts'
import { createExchange, type Request } from '../../../packages/sdk/client/transport/exchange.ts'
import { Refused, Unreachable, UsageError, Waiting } from '../command.ts'
import { readBody, TooLong } from './bounded-body.ts'
import type { CallerCredentials, ClientRole } from './credentials.ts'

/** Sends a request with a token. @throws Refused, Unreachable. */
type Ask = <Result>(method: string, path: string, body?: object) => Promise<Result>

/**
 * Reads a list page by page, to its end or to the limit.
 * @throws Refused, Unreachable.
 */
type ReadAll = <Row>(path: string, limit?: number) => Promise<Row[]>

/**
 * Reads bytes up to a limit; null when there is no such file.
 * @throws Refused, Unreachable.
 */
type ReadBytes = (
  path: string,
  mostBytes: number,
) => Promise<{ readonly status: number; readonly bytes: Uint8Array<ArrayBuffer> } | null>

/** Opens a stream of the public listener. @throws Refused, Unreachable. */
export type Open = (path: string, headers: Request['headers']) => Promise<OpenAnswer>

/** The service, remote or opened in this process. */
export interface ServiceConnection {
  readonly ask: Ask
  readonly readAll: ReadAll
  readonly readBytes: ReadBytes
  /** Null for a service in this process, which has no stream of events. */
  readonly open: Open | null
  /** The prefix of the specification's paths: `/thr/processor`. */
  readonly base: string
  close(): Promise<void>
}

/** The URL of the service and the way to send a request to it. */
export interface ServiceAddress {
  readonly baseUrl: string
  readonly privateUrl: string
  /** The issuer of the public listener, if it differs from the URL. */
  readonly issuer?: string
  readonly fetch?: typeof globalThis.fetch
  /** For each request; a minute unless given. */
  readonly timeoutMs?: number
}

/**
 * Creates the requests of a role: an administrator calls the private listener, a client the public
 * one. The SDK's client gets the token and sends the requests; this function adds the failures of
 * the command line.
 */
export function createRequests(
  { baseUrl, privateUrl, timeoutMs = 60_000, ...address }: ServiceAddress,
  role: ClientRole,
  credentials: CallerCredentials,
): Omit<ServiceConnection, 'base' | 'close'> & { readonly open: Open } {
  const origin = role === 'admin' ? privateUrl : baseUrl
  const { personToken } = credentials
  const tokens = personToken && { current: async () => personToken, forget: () => undefined }
  // Without retries: the person sees the outcome at once and can try again.
  const exchange = orUsageError(credentials, () =>
    createExchange(
      parseSettings({
        baseUrl,
        timeoutMs,
        ...address,
        ...credentials.client,
        tokenEndpoint: `${baseUrl}/oauth/token`,
        allowHttp: true,
        retries: 0,
      }),
      ...(tokens ? [tokens] : []),
    ),
  )
  const send = async <Reply>(path: string, work: (url: string) => Promise<Reply>) => {
    try {
      return await work(`${origin}${path}`)
    } catch (error) {
      throw toFailure(error, new URL(origin).origin, credentials)
    }
  }
  const openOnce = (path: string, headers: Request['headers']) =>
    send(path, (url) => exchange.open({ url, method: 'GET', headers }))
  const request = async (method: string, path: string, body?: object) => {
    const asked = { method: method as Request['method'], body: body && JSON.stringify(body) }
    const answer = await send(path, (url) => exchange.send({ ...asked, url, headers: {} }))
    const content = parseContent(answer)
    if (answer.status === 202 && isApproval(content)) throw new Waiting(content)
    return { content, link: answer.headers.get('link') }
  }
  return {
    ask: async <Answer>(method: string, path: string, body?: object) =>
      (await request(method, path, body)).content as Answer,
    async readAll<Row>(path: string, limit = Number.POSITIVE_INFINITY) {
      const rows: Row[] = []
      let next: string | undefined = limitPage(path, limit)
      for (let page = 0; next !== undefined && rows.length < limit; page += 1) {
        if (page >= mostPages) throw new Unreachable('The list of the service does not end.')
        const { content, link } = await request('GET', next)
        if (!Array.isArray(content))
          throw new Unreachable('The answer of the service is not a list.')
        rows.push(...content)
        next = nextPath(link, origin)
      }
      return rows.slice(0, limit)
    },
    async readBytes(path, mostBytes) {
      const { body, ...answer } = await openOnce(path, { accept: '*/*' })
      if (answer.status === 404) return null
      if (answer.status >= 300) parseContent(answer)
      const work = () => withDeadline({ timeoutMs }, () => readBody(body, mostBytes))
      const bytes = await send(path, work).catch((error: unknown) => {
        if (!(error instanceof TooLong)) throw error
        throw new Unreachable(`${path} exceeds the limit of ${mostBytes} bytes.`, { cause: error })
      })
      return { ...answer, bytes }
    },
    async open(path, headers) {
      const answer = await openOnce(path, headers)
      if (answer.status >= 500) throw new Unreachable(`The service answered ${answer.status}.`)
      if (answer.status >= 400) parseContent(answer)
      return answer
    },
  }
}

/** Entries of a page, unless fewer are asked for. */
const pageEntries = 100

/** The path of the first page, with no more entries than are wanted. */
function limitPage(path: string, limit: number): string {
  if (limit >= pageEntries) return path
  return `${path}${path.includes('?') ? '&' : '?'}limit=${limit}`
}

/** More pages than any list of a service has. */
const mostPages = 100_000

/**
 * Returns the path of the next page in the header `Link`.
 * @throws Unreachable when it is on another host, which must not get the token.
 */
function nextPath(link: string | null, origin: string): string | undefined {
  const path = /<([^>]+)>; rel="next"/.exec(link ?? '')?.[1]
  if (path === undefined) return undefined
  if (path.startsWith('/') && new URL(`${origin}${path}`).origin === new URL(origin).origin) {
    return path
  }
  throw new Unreachable('The next page that the service names is on another server.')
}

const isApproval = (content: unknown): content is { readonly approvalId: string } =>
  typeof Object(content).approvalId === 'string'

/** Parses JSON content. @throws Refused with the problem of a refusal. */
function parseContent({ status, text }: Answer): unknown {
  let content: unknown = null
  try {
    if (text !== '') content = JSON.parse(text)
  } catch {
    throw new Unreachable(`The server that answered (${status}) is not Pinfold.`)
  }
  if (status >= 300) throw new Refused(status, content ?? {})
  return content
}

function toFailure(error: unknown, origin: string, { jwkFile }: CallerCredentials): unknown {
  if (!(error instanceof CallFailed)) return error
  const { cause, code, retryAfterSeconds, status } = error
  if (code === 'invalid_argument') {
    return new UsageError(
      jwkFile === null ? error.message : `${jwkFile} holds no private key (JWK).`,
    )
  }
  if (code === 'token_refused' && status === 429) {
    return new Refused(status, {
      code: 'rate_limited',
      detail: `Too many tokens were requested. Retry in ${retryAfterSeconds ?? 1} s.`,
    })
  }
  if (code === 'token_refused' && status !== undefined && status >= 500) {
    return new Unreachable(
      `${origin} issues no token at present: it answered ${status}. Run pinfold doctor, or retry.`,
      { cause },
    )
  }
  if (code === 'token_refused') {
    return new Refused(status ?? 0, {
      code: 'no_token',
      detail:
        `No token was issued: ${status}. Check that the client is registered here and active, ` +
        'and that its secret or key is right.',
    })
  }
  if (code === 'unexpected_answer') {
    return new Unreachable(`The server that answered (${status}) is not Pinfold.`, { cause })
  }
  return new Unreachable(`No server answers at ${origin}. Check that it is running.`, { cause })
}

function orUsageError<Result>(credentials: CallerCredentials, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    throw toFailure(error, '', credentials)
  }
}
