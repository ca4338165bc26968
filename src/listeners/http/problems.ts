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

/** Bytes that a request body may have. */
export const bodyLimit = 65_536
/** Characters that a URL may have. */
export const urlLimit = 2_048
/** Bytes that a request's headers may have together. */
export const headerLimit = 16_384

/** The document of a failure (RFC 9457). */
const problemDocument = (problem: Problem, requestId: string) => ({
  type: `/problems/${problem.code}`,
  title: problem.title,
  status: problem.status,
  code: problem.code,
  ...(problem.detail !== undefined && { detail: problem.detail }),
  requestId,
  ...(problem.errors !== undefined && { errors: problem.errors }),
})

const problemType = 'application/problem+json; charset=utf-8'

/** Answers a failure; what is not in the table of failures is logged and becomes a 500. */
export const replyWithProblem =
  (formats: FormatDetails) =>
  (
    error: FastifyError,
    request: FastifyRequest,
    reply: FastifyReply,
  ): FastifyReply | Promise<FastifyReply> => {
    // The caller left in the middle of its body: nobody hears the answer, and nothing is wrong
    // here.
    const isGone = error.code === 'ECONNRESET' && request.raw.destroyed && !request.raw.complete
    const problem = isGone ? new Problem('malformed_request') : toProblem(error, request, formats)
    if (problem.status >= 500) {
      request.log.error({ requestId: request.id, err: problem.cause ?? error }, problem.title)
    }
    const before = request.caller ? request.routeOptions.config.beforeProblem : undefined
    if (!before) return sendProblem(reply, problem)
    return before(request, problem).then(() => sendProblem(reply, problem))
  }

export const sendProblem = (reply: FastifyReply, problem: Problem): FastifyReply => {
  const { id } = reply.request
  // Whoever asks for a token understands RFC 6749, whatever in this service refuses it.
  const isTokenRequest = findPattern(reply.request) === authorizationServerPaths.token
  return reply
    .code(problem.status)
    .headers({ ...problem.headers, ...(isTokenRequest && { pragma: 'no-cache' }) })
    .type(isTokenRequest ? 'application/json; charset=utf-8' : problemType)
    .serializer((document: unknown) => JSON.stringify(document))
    .send(isTokenRequest ? toTokenError(problem) : problemDocument(problem, id))
}

/** What the framework refuses, in our own terms. */
const frameworkRefusals: Readonly<Record<string, (request: FastifyRequest) => Problem>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ({ headers }) => unsupportedMediaType(headers),
  FST_ERR_CTP_BODY_TOO_LARGE: () =>
    new Problem('body_too_large', { detail: `The body exceeds the limit of ${bodyLimit} bytes.` }),
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

/** Answers what is no HTTP request at all, on a connection that is then closed. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
  const { code = '' } = error
  // Where the handshake failed there is no connection yet that an answer could go by.
  const isHandshake = /^ERR_(?:SSL|TLS)_/.test(code)
  // A second answer would be taken for that of the next request.
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
  // A peer that does not close its side would keep the connection. One that still sends is read on
  // for a moment: a connection closed over unread bytes takes the answer back.
  socket.resume()
  setTimeout(() => socket.destroy(), 1_000).unref()
}
