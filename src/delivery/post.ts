import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { isIP } from 'node:net'
import type { AddressPolicy } from './address-policy.ts'
import { readAnswer } from './answer-excerpt.ts'
import { guardedLookup, TargetRefused } from './guarded-lookup.ts'
import type { ResolveHost } from './resolve-host.ts'
import { hostOf, portOf } from './target-url.ts'

/** What came of a request: `delivered` by a 2xx, or in a word why not. */
export interface PostOutcome {
  readonly outcome: string
  readonly statusCode?: number
  /** The first bytes of a text or JSON answer; never from an address that is an exception. */
  readonly response?: string
}

export interface PostOptions {
  readonly judge: AddressPolicy
  readonly resolve: ResolveHost
  /** For the whole of one request, from the look-up of the name to the end of the answer. */
  readonly timeoutMs: number
  readonly httpsOnly: boolean
  /** Certificates of authorities to trust beside those of Node. */
  readonly ca?: string
}

/** Sends a JSON body to an address that a client chose. @returns null when it was stopped. */
export type Post = (
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  stop: AbortSignal,
) => Promise<PostOutcome | null>

/** Shorter than servers keep a connection that is idle, so that none is used as it closes. */
const idleMs = 3_000

/**
 * Posts to addresses that were checked, and follows no redirect. Connections are kept for a moment: a
 * kept one leads where it was checked to lead.
 */
export function createPost(options: PostOptions): Post {
  const agents = {
    'http:': new HttpAgent({ keepAlive: true, timeout: idleMs }),
    'https:': new HttpsAgent({ keepAlive: true, timeout: idleMs, ...ofCa(options) }),
  }
  return async (text, headers, body, stop) => {
    const url = new URL(text)
    const protocol = url.protocol === 'https:' ? 'https:' : 'http:'
    if (isForbidden(options, url)) return { outcome: 'address_refused' }
    const signal = AbortSignal.any([AbortSignal.timeout(options.timeoutMs), stop])
    try {
      const response = await send(options, agents[protocol], url, headers, body, signal)
      return await outcomeOf(options, url, response, signal)
    } catch (error) {
      return stop.aborted ? null : { outcome: reasonOf(error, signal) }
    }
  }
}

const ofCa = ({ ca }: PostOptions) => (ca === undefined ? {} : { ca })

/** No name stands for a numeric host, so that no look-up would judge it. */
function isForbidden({ httpsOnly, judge }: PostOptions, url: URL): boolean {
  if (httpsOnly && url.protocol !== 'https:') return true
  const host = hostOf(url)
  return isIP(host) !== 0 && judge(host, portOf(url)) === 'refused'
}

function send(
  { judge, resolve }: PostOptions,
  agent: HttpAgent,
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: string,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolveAnswer, reject) => {
    const sent = request(url, {
      method: 'POST',
      agent,
      signal,
      lookup: guardedLookup(resolve, judge, portOf(url)),
      headers: {
        ...headers,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'accept-encoding': 'identity',
        'user-agent': 'Pinfold',
      },
    })
    sent.once('response', resolveAnswer)
    sent.once('error', reject)
    // A 101 that was not asked for ends the request with neither of the two. After an answer it is moot.
    sent.once('close', () => reject(new Error('The connection was closed without an answer.')))
    sent.end(body)
  })
}

async function outcomeOf(
  { judge }: PostOptions,
  url: URL,
  response: IncomingMessage,
  signal: AbortSignal,
): Promise<PostOutcome> {
  const { statusCode = 0, socket } = response
  const isPublic = judge(socket.remoteAddress ?? '', portOf(url)) === 'public'
  const excerpt = await readAnswer(response, signal)
  return {
    outcome: statusCode >= 200 && statusCode < 300 ? 'delivered' : 'bad_status',
    statusCode,
    ...(isPublic && excerpt !== null && { response: excerpt }),
  }
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection_refused',
  ENOTFOUND: 'name_not_found',
}

function reasonOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'timed_out'
  if (error instanceof TargetRefused) return error.outcome
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (/CERT|TLS|SSL|ISSUER/.test(code)) return 'certificate_refused'
  return reasons[code] ?? 'connection_failed'
}
