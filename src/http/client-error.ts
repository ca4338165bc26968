import { randomUUID } from 'node:crypto'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Problem } from '../errors.ts'
import { headerLimit, problemDocument } from './problem-reply.ts'
import { apiVersion } from './request-headers.ts'

const details: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: `The headers may have ${headerLimit} bytes together.`,
  ERR_HTTP_REQUEST_TIMEOUT: 'The request did not arrive within 10 seconds.',
}

/** Answers what is no HTTP request at all, on a connection that is then closed. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (isPastAnswering(error, socket)) {
    socket.destroy()
    return
  }
  const detail = details[error.code ?? ''] ?? 'This is not an HTTP request.'
  const problem = new Problem('malformed_request', { detail })
  const requestId = randomUUID()
  const body = JSON.stringify(problemDocument(problem, requestId))
  socket.end(
    [
      'HTTP/1.1 400 Bad Request',
      'Content-Type: application/problem+json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Cache-Control: no-store',
      `X-Request-Id: ${requestId}`,
      `Api-Version: ${apiVersion}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  )
  // A peer that does not close its side would keep the connection. One that still sends is read on for a
  // moment: a connection closed over unread bytes takes the answer back.
  socket.resume()
  setTimeout(() => socket.destroy(), lingerMs).unref()
}

const lingerMs = 1_000

/**
 * Where the handshake failed there is no connection yet that an answer could go by; where the request was
 * answered before all of it had come, a second answer would be taken for that of the next request.
 */
function isPastAnswering({ code }: NodeJS.ErrnoException, socket: Duplex): boolean {
  const isHandshake = /^ERR_(?:SSL|TLS)_/.test(code ?? '')
  const isAnswered =
    code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket instanceof Socket && socket.bytesWritten > 0
  return code === 'ECONNRESET' || isHandshake || isAnswered || !socket.writable
}
