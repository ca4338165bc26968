import type { IncomingMessage } from 'node:http'
import { holdsPan } from '../../domain/pan.ts'
import { parseRetryAfter } from '../../domain/retry-after.ts'
import { guardedRequests, type OutboundRules } from '../../outbound/guarded-request.ts'
import { TargetRefused } from '../../outbound/resolve-host.ts'
import { parsePort } from '../../outbound/target-url.ts'

/** The outcome of a request: `delivered` for a 2xx, otherwise the reason in one word. */
export interface PostOutcome {
  readonly outcome: string
  readonly statusCode?: number
  /**
   * The first bytes of a text or JSON answer; never from an address that is allowed by exception.
   */
  readonly response?: string
  /** The pause that a receiver requested with 429 or 503. */
  readonly retryAfterSeconds?: number
}

interface PostOptions extends OutboundRules {
  /** The time limit of a whole request, from the name lookup to the end of the answer. */
  readonly timeoutMs: number
}

/**
 * Sends a JSON body to an address that a client chose.
 * @returns null if it was stopped.
 */
export type Post = (
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  stop: AbortSignal,
) => Promise<PostOutcome | null>

/** Posts to checked addresses, without following redirects. */
export function createPost(options: PostOptions): Post {
  const request = guardedRequests(options)
  return async (text, headers, body, stop) => {
    const url = new URL(text)
    const signal = AbortSignal.any([AbortSignal.timeout(options.timeoutMs), stop])
    try {
      const response = await request(url, {
        method: 'POST',
        headers: {
          ...headers,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        },
        body,
        signal,
      })
      const { statusCode = 0, socket } = response
      const isPublic = options.judgeAddress(socket.remoteAddress ?? '', parsePort(url)) === 'public'
      const excerpt = await readAnswer(response, signal)
      const retryAfterSeconds = [429, 503].includes(statusCode)
        ? parseRetryAfter(response.headers['retry-after'], new Date())
        : null
      return {
        outcome: statusCode >= 200 && statusCode < 300 ? 'delivered' : 'bad_status',
        statusCode,
        ...(isPublic && excerpt !== null && { response: excerpt }),
        ...(retryAfterSeconds !== null && { retryAfterSeconds }),
      }
    } catch (error) {
      return stop.aborted ? null : { outcome: classifyFailure(error, signal) }
    }
  }
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection_refused',
  ENOTFOUND: 'name_not_found',
}

function classifyFailure(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'timed_out'
  if (error instanceof TargetRefused) return error.outcome
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (/CERT|TLS|SSL|ISSUER/.test(code)) return 'certificate_refused'
  return reasons[code] ?? 'connection_failed'
}

/** The number of bytes of an answer that are stored. */
const keptBytes = 256
/** The number of bytes that are checked, so that a card number at the cut is seen whole. */
const seenBytes = 320
/** The number of bytes that are read, so that the connection can be reused. */
const readBytes = 16_384

/**
 * Reads an answer to its end, or to the limit.
 * @returns the first bytes as text if the answer is text or JSON, otherwise null. Text that may
 *   contain a card number is not stored.
 */
async function readAnswer(response: IncomingMessage, signal: AbortSignal): Promise<string | null> {
  const seen: Buffer[] = []
  let lengthBytes = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      if (lengthBytes < seenBytes) seen.push(chunk.subarray(0, seenBytes - lengthBytes))
      lengthBytes += chunk.length
      if (lengthBytes > readBytes || signal.aborted) break
    }
  } catch {
    // The status is known, so an error in the rest of the answer is ignored.
  } finally {
    if (!response.complete) response.destroy()
  }
  const { headers } = response
  const isText =
    /^\s*(text\/|application\/([\w.-]+\+)?json)/i.test(headers['content-type'] ?? '') &&
    (headers['content-encoding'] ?? 'identity') === 'identity'
  if (!isText || lengthBytes === 0) return null
  const bytes = Buffer.concat(seen)
  return holdsPan(printable(bytes)) ? mayHoldPan : printable(bytes.subarray(0, keptBytes))
}

const mayHoldPan = 'The answer is not stored: it may contain a card number.'

/** Makes one line without characters that disturb a terminal or a database. */
const printable = (bytes: Buffer): string =>
  bytes
    .toString('utf8')
    .replaceAll('\uFFFD', '')
    .replaceAll(/[\p{Cc}\p{Cs}]+/gu, ' ')
    .trim()
