import type { IncomingMessage } from 'node:http'
import { holdsPan } from '../../domain/pan.ts'
import { parseRetryAfter } from '../../domain/retry-after.ts'
import { guardedRequests, type OutboundRules } from '../../outbound/guarded-request.ts'
import { TargetRefused } from '../../outbound/resolve-host.ts'
import { parsePort } from '../../outbound/target-url.ts'

/** What came of a request: `delivered` by a 2xx, or in a word why not. */
export interface PostOutcome {
  readonly outcome: string
  readonly statusCode?: number
  /** The first bytes of a text or JSON answer; never from an address that is an exception. */
  readonly response?: string
  /** How long the receiver asks to be left alone, where it answered 429 or 503 and said so. */
  readonly retryAfterSeconds?: number
}

interface PostOptions extends OutboundRules {
  /** For the whole of one request, from the look-up of the name to the end of the answer. */
  readonly timeoutMs: number
}

/** Sends a JSON body to an address that a client chose. @returns null when it was stopped. */
export type Post = (
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  stop: AbortSignal,
) => Promise<PostOutcome | null>

/** Posts to addresses that were checked, and follows no redirect. */
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

/** Bytes of an answer that are kept. */
const keptBytes = 256
/** Bytes that are looked at: a card number that would be cut in the middle must be seen whole. */
const seenBytes = 320
/** Bytes that are read, so that the connection can be used again. */
const readBytes = 16_384

/**
 * Reads an answer to its end, or as much of it as is worth reading.
 * @returns the first bytes as text where the answer says that it is text or JSON, else null. Text
 *   that may hold a card number is not kept.
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
    // The status is known: how the rest of an answer ends changes nothing.
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

/** One line, without what a terminal or a database would stumble over. */
const printable = (bytes: Buffer): string =>
  bytes
    .toString('utf8')
    .replaceAll('\uFFFD', '')
    .replaceAll(/[\p{Cc}\p{Cs}]+/gu, ' ')
    .trim()
