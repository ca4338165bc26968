import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { Problem } from '../errors.ts'
import { headerLimit, problemDocument } from './problem-reply.ts'
import { apiVersion } from './request-headers.ts'

const details: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: `The headers may have ${headerLimit} bytes together.`,
  ERR_HTTP_REQUEST_TIMEOUT: 'The request did not arrive within 10 seconds.',
}

/** Answers what is no HTTP request at all, on a connection that is then closed. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  // Where the handshake failed there is no connection yet that an answer could go by.
  const isHandshake = /^ERR_(?:SSL|TLS)_/.test(error.code ?? '')
  if (error.code === 'ECONNRESET' || isHandshake || !socket.writable) {
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
}
