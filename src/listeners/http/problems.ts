import { randomUUID } from 'node:crypto'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../domain/problem.ts'
import { authorizationServerPaths } from '../oauth/authorization-server.ts'
import { toTokenError } from '../oauth/token-endpoint.ts'
import { unsupportedMediaType } from './media-type.ts'
import { findPattern } from './paths.ts'
import { apiVersion } from './request.ts'
import { type FormatDetails, schemaProblem } from './validation.ts'

/** The maximum bytes of a request body. */
export const bodyLimit = 65_536
/** The maximum characters of a URL. */
export const urlLimit = 2_048
/** The maximum bytes of a request's headers. */
export const headerLimit = 16_384

/** Composes the document of a failure (RFC 9457). */
const problemDocument = (problem: Problem, requestId: string) => ({
  type: `/problems/${problem.code}`,
  title: problem.title,
  status: problem.status,
  code: problem.code,
  ...(problem.detail !== undefined && { detail: problem.detail }),
  requestId,
  ...problem.members,
  ...(problem.errors !== undefined && { errors: problem.errors }),
})

const problemType = 'application/problem+json; charset=utf-8'

/** Answers a failure. A failure outside the table is logged and becomes a 500. */
export const replyWithProblem =
  (formats: FormatDetails) =>
  (
    error: FastifyError,
    request: FastifyRequest,
    reply: FastifyReply,
  ): FastifyReply | Promise<FastifyReply> => {
    // The caller disconnected while sending its body: no answer is possible, and there is no fault
    // here.
    const isGone = error.code === 'ECONNRESET' && request.raw.destroyed && !request.raw.complete
    const problem = isGone ? new Problem('malformed_request') : toProblem(error, request, formats)
    if (problem.status >= 500 && !problem.isExpected) {
      request.log.error({ requestId: request.id, err: problem.cause ?? error }, problem.title)
    }
    const before = request.caller ? request.routeOptions.config.beforeProblem : undefined
    if (!before) return sendProblem(reply, problem)
    return before(request, problem).then(() => sendProblem(reply, problem))
  }

export const sendProblem = (reply: FastifyReply, problem: Problem): FastifyReply => {
  const { id } = reply.request
  // Callers of the token endpoint understand RFC 6749 errors, whichever part of the service
  // refuses.
  const isTokenRequest = findPattern(reply.request) === authorizationServerPaths.token
  return reply
    .code(problem.status)
    .headers({ ...problem.headers, ...(isTokenRequest && { pragma: 'no-cache' }) })
    .type(isTokenRequest ? 'application/json; charset=utf-8' : problemType)
    .serializer((document: unknown) => JSON.stringify(document))
    .send(isTokenRequest ? toTokenError(problem) : problemDocument(problem, id))
}

/** The framework's errors, as problems of this service. */
const frameworkRefusals: Readonly<Record<string, (request: FastifyRequest) => Problem>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ({ headers }) => unsupportedMediaType(headers),
  FST_ERR_CTP_BODY_TOO_LARGE: ({ routeOptions }) =>
    new Problem('body_too_large', {
      detail: `The body exceeds the limit of ${routeOptions.bodyLimit ?? bodyLimit} bytes.`,
    }),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    new Problem('malformed_request', {
      detail: 'The Content-Length differs from the length of the body.',
    }),
  FST_ERR_BAD_URL: () =>
    new Problem('malformed_request', { detail: 'The URL is not percent-encoded UTF-8.' }),
  FST_ERR_MAX_PARAM_LENGTH: () => new Problem('not_found'),
}

/** Converts an error of this service or of the framework to a problem of the table. */
export function toProblem(
  error: FastifyError,
  request: FastifyRequest,
  formats: FormatDetails,
): Problem {
  if (error instanceof Problem) return error
  if (error.validation) return schemaProblem(request, error, formats)
  const refusal = frameworkRefusals[error.code]
  return refusal ? refusal(request) : new Problem('internal_error', { cause: error })
}

const details: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: `The headers exceed the limit of ${headerLimit} bytes.`,
  ERR_HTTP_REQUEST_TIMEOUT: 'The request did not arrive within 10 seconds.',
}

/** Answers bytes that are not an HTTP request, and closes the connection. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
  const { code = '' } = error
  // A failed handshake leaves no connection for an answer.
  const isHandshake = /^ERR_(?:SSL|TLS)_/.test(code)
  // The peer would take a second answer for that of its next request.
  const isAnswered =
    code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket instanceof Socket && socket.bytesWritten > 0
  if (code === 'ECONNRESET' || isHandshake || isAnswered || !socket.writable) {
    socket.destroy()
    return
  }
  const detail = details[code] ?? 'The received bytes are not an HTTP/1.1 request.'
  const problem = new Problem('malformed_request', { detail })
  const requestId = randomUUID()
  const body = JSON.stringify(problemDocument(problem, requestId))
  socket.end(
    [
      'HTTP/1.1 400 Bad Request',
      `Content-Type: ${problemType}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Cache-Control: no-store',
      `X-Request-Id: ${requestId}`,
      `Api-Version: ${apiVersion}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  )
  // A peer that does not close its side would hold the connection. Pending bytes are read for a
  // moment: closing a connection with unread bytes discards the answer.
  socket.resume()
  setTimeout(() => socket.destroy(), 1_000).unref()
}
