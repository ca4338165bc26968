import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { isIP, type Socket } from 'node:net'
import type { AddressPolicy } from './address-policy.ts'
import { guardedLookup, type ResolveHost, TargetRefused } from './resolve-host.ts'
import { parseHost, parsePort } from './target-url.ts'

/** The rules of all outgoing calls. */
export interface OutboundRules {
  readonly judgeAddress: AddressPolicy
  readonly resolve: ResolveHost
  /** Whether only https is allowed: everywhere except in the sandbox. */
  readonly httpsOnly: boolean
  /** Trusted authorities beside those of Node. */
  readonly ca?: string
}

interface OutboundCall {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string | number>>
  readonly body?: string
  /** Aborts the call and the reading of its answer. */
  readonly signal: AbortSignal
  /** Called with the connection of the call, which may not be connected yet. */
  readonly onSocket?: (socket: Socket) => void
  /** Whether the call takes a new connection, and none that is kept. */
  readonly isAlone?: boolean
}

/**
 * Calls a checked address and follows no redirect.
 * @throws `TargetRefused` when the rules refuse it; Node's errors of the connection.
 */
export type GuardedRequest = (url: URL, call: OutboundCall) => Promise<IncomingMessage>

/** Shorter than a server's keep-alive time, so that no connection is used while it closes. */
const idleMs = 3_000

/**
 * Sends all outgoing calls of this service. Idle connections are kept briefly; a kept one leads to
 * its checked address.
 */
export function guardedRequests(rules: OutboundRules): GuardedRequest {
  const keeping = createAgents(rules, true)
  const closing = createAgents(rules, false)
  return async (url, { body, headers, isAlone = false, method, onSocket, signal }) => {
    const isSafe = url.protocol === 'https:'
    const isOther = !isSafe && (rules.httpsOnly || url.protocol !== 'http:')
    const host = parseHost(url)
    // A numeric host is not resolved, so it is checked here.
    const isRefused = isIP(host) !== 0 && rules.judgeAddress(host, parsePort(url)) === 'refused'
    if (isOther || isRefused) throw new TargetRefused('address_refused')
    const request = isSafe ? httpsRequest : httpRequest
    return new Promise((resolve, reject) => {
      const sent = request(url, {
        method,
        agent: (isAlone ? closing : keeping)[isSafe ? 'https:' : 'http:'],
        signal,
        lookup: guardedLookup(rules.resolve, rules.judgeAddress, parsePort(url)),
        headers: { ...headers, 'accept-encoding': 'identity', 'user-agent': 'Pinfold' },
      })
      if (onSocket) sent.once('socket', onSocket)
      sent.once('response', resolve)
      sent.once('error', reject)
      // An unexpected 101 ends the request without either event. After an answer, this has no
      // effect.
      sent.once('close', () => reject(new Error('The connection was closed without an answer.')))
      sent.end(body)
    })
  }
}

const createAgents = ({ ca }: OutboundRules, keepAlive: boolean) => ({
  'http:': new HttpAgent({ keepAlive, timeout: idleMs }),
  'https:': new HttpsAgent({ keepAlive, timeout: idleMs, ...(ca !== undefined && { ca }) }),
})

const timeoutMs = 5_000
const lengthLimitBytes = 256 * 1_024

/**
 * Reads JSON documents by guarded requests: status 200, no redirect, at most 256 KiB. The returned
 * function throws an Error otherwise.
 * @param waitMs the time limit of one request.
 */
export const jsonFetcher =
  (request: GuardedRequest, waitMs = timeoutMs) =>
  async (address: URL): Promise<unknown> => {
    const signal = AbortSignal.timeout(waitMs)
    const response = await request(address, {
      method: 'GET',
      headers: { accept: 'application/json, application/jwk-set+json' },
      signal,
    }).catch((cause: unknown) => {
      const reason = cause instanceof Error ? cause.message : 'no answer'
      throw new Error(`${address} was not read: ${reason}`, { cause })
    })
    try {
      if (response.statusCode !== 200) throw new Error(`${address} answered ${response.statusCode}`)
      return JSON.parse(await readText(response, address))
    } finally {
      if (!response.complete) response.destroy()
    }
  }

/** An answer with any status. */
interface TextAnswer {
  readonly status: number
  readonly text: string
}

/**
 * Creates a function that posts text by guarded requests and reads at most 256 KiB of the answer.
 * The function throws an Error when no answer arrives.
 * @param waitMs the time limit of one request.
 */
export const textPoster =
  (request: GuardedRequest, waitMs = timeoutMs) =>
  async (address: URL, body: string): Promise<TextAnswer> => {
    const response = await request(address, {
      method: 'POST',
      headers: {
        'content-type': 'text/plain; charset=utf-8',
        'content-length': Buffer.byteLength(body),
      },
      body,
      signal: AbortSignal.timeout(waitMs),
    })
    try {
      return { status: response.statusCode ?? 0, text: await readText(response, address) }
    } finally {
      if (!response.complete) response.destroy()
    }
  }

/** The used members of a request of the Fetch standard. */
interface FetchRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  /** A form, or text. */
  readonly body?: unknown
}

/**
 * Creates a `fetch` for libraries that uses guarded requests: it returns at most 256 KiB, whatever
 * the status, and throws an Error when no answer arrives.
 * @param waitMs the time limit of one request.
 */
export const responseFetcher =
  (request: GuardedRequest, waitMs = timeoutMs) =>
  async (url: string, { body, headers, method }: FetchRequest): Promise<Response> => {
    if (method !== 'GET' && method !== 'POST')
      throw new Error(`The method ${method} is not supported for outbound calls.`)
    const address = new URL(url)
    const text = body === undefined || body === null ? undefined : String(body)
    const response = await request(address, {
      method,
      headers: {
        ...headers,
        ...(text !== undefined && { 'content-length': Buffer.byteLength(text) }),
      },
      ...(text !== undefined && { body: text }),
      signal: AbortSignal.timeout(waitMs),
    })
    try {
      const { 'content-type': contentType, 'www-authenticate': challenge } = response.headers
      return new Response(await readText(response, address), {
        status: response.statusCode ?? 502,
        headers: {
          ...(contentType !== undefined && { 'content-type': contentType }),
          ...(challenge !== undefined && { 'www-authenticate': challenge }),
        },
      })
    } finally {
      if (!response.complete) response.destroy()
    }
  }

async function readText(response: IncomingMessage, address: URL): Promise<string> {
  const chunks: Buffer[] = []
  let lengthBytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    lengthBytes += chunk.length
    if (lengthBytes > lengthLimitBytes)
      throw new Error(`the answer of ${address} exceeds the limit`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
