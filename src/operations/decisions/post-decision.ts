import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { AskError } from '../../domain/decision.ts'
import type { GuardedRequest } from '../../outbound/guarded-request.ts'
import { TargetRefused } from '../../outbound/resolve-host.ts'
import { answerBytesMax } from './parse-answer.ts'

/** One request to an endpoint. */
export interface DecisionPost {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly signal: AbortSignal
  /** Whether it takes a new connection. */
  readonly isAlone: boolean
  /** Called when the status of the answer is known, before its body. */
  onStatus(statusCode: number): void
}

/** The whole answer to a request. */
export interface PostedAnswer {
  readonly statusCode: number
  readonly bytes: Uint8Array
  /** Whether the headers let the body be JSON as it is. A missing type does. */
  readonly mayBeJson: boolean
}

/** Why there is no whole answer. */
export class PostFailed extends Error {
  readonly reason: AskError
  /** Whether the connection failed before any byte of an answer came. */
  readonly isUntouched: boolean

  constructor(reason: AskError, isUntouched: boolean, cause?: unknown) {
    super(reason, { cause })
    this.reason = reason
    this.isUntouched = isUntouched
  }
}

/**
 * Posts a request, and reads its answer: any status, at most 16 KiB.
 * @throws `PostFailed`.
 */
export async function postDecision(
  request: GuardedRequest,
  { body, headers, isAlone, onStatus, signal, url }: DecisionPost,
): Promise<PostedAnswer> {
  let connection: Socket | null = null
  let bytesBefore = 0
  const isUntouched = () => connection === null || connection.bytesRead === bytesBefore
  let response: IncomingMessage
  try {
    response = await request(url, {
      method: 'POST',
      headers: {
        ...headers,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
      body,
      signal,
      isAlone,
      onSocket(socket) {
        connection = socket
        bytesBefore = socket.bytesRead
      },
    })
  } catch (error) {
    const isRefused = error instanceof TargetRefused && error.outcome === 'address_refused'
    if (isRefused) throw new PostFailed('target_refused', false, error)
    throw new PostFailed('connection_failed', isUntouched(), error)
  }
  const { headers: answered, statusCode = 0 } = response
  onStatus(statusCode)
  const bytes = await readBytes(response)
  return { statusCode, bytes, mayBeJson: mayBeJson(answered) }
}

async function readBytes(response: IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  let lengthBytes = Number(response.headers['content-length'] ?? 0)
  try {
    if (lengthBytes > answerBytesMax) throw new PostFailed('too_large', false)
    lengthBytes = 0
    for await (const chunk of response as AsyncIterable<Buffer>) {
      lengthBytes += chunk.length
      if (lengthBytes > answerBytesMax) throw new PostFailed('too_large', false)
      chunks.push(chunk)
    }
  } catch (error) {
    if (error instanceof PostFailed) throw error
    throw new PostFailed('connection_failed', false, error)
  } finally {
    if (!response.complete) response.destroy()
  }
  return Buffer.concat(chunks)
}

const mayBeJson = (headers: IncomingMessage['headers']): boolean =>
  /^\s*(application\/([\w.-]+\+)?json\s*(;|$)|$)/i.test(headers['content-type'] ?? '') &&
  (headers['content-encoding'] ?? 'identity') === 'identity'
