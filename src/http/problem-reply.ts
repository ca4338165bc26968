import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../errors.ts'
import { authorizationServerPaths } from '../oauth/authorization-server.ts'
import { tokenErrorOf } from '../oauth/token-errors.ts'
import { bodyFaults } from './body-rules.ts'
import { type FormatDetails, schemaProblem } from './validation-errors.ts'

/** Bytes that a request body may have. */
export const bodyLimit = 65_536
/** Characters that a URL may have. */
export const urlLimit = 2_048
/** Bytes that a request's headers may have together. */
export const headerLimit = 16_384

const problemType = 'application/problem+json; charset=utf-8'

/** The document of a failure (RFC 9457). */
export const problemDocument = (problem: Problem, requestId: string) => ({
  type: `/problems/${problem.code}`,
  title: problem.title,
  status: problem.status,
  code: problem.code,
  ...(problem.detail !== undefined && { detail: problem.detail }),
  requestId,
  ...(problem.errors !== undefined && { errors: problem.errors }),
})

/** Answers a failure; what is not in the table of failures is logged and becomes a 500. */
export const replyWithProblem =
  (formats: FormatDetails) =>
  (error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const problem = isGone(error, request)
      ? new Problem('malformed_request')
      : problemOf(error, request, formats)
    if (problem.status >= 500) request.log.error({ err: problem.cause ?? error }, problem.title)
    return sendProblem(reply, problem)
  }

/** The caller left in the middle of its body: nobody hears the answer, and nothing is wrong here. */
const isGone = ({ code }: FastifyError, { raw }: FastifyRequest): boolean =>
  code === 'ECONNRESET' && raw.destroyed && !raw.complete

export const sendProblem = (reply: FastifyReply, problem: Problem): FastifyReply => {
  const { id, routeOptions } = reply.request
  // Whoever asks for a token understands RFC 6749, whatever in this service refuses it.
  const isTokenRequest = routeOptions.url === authorizationServerPaths.token
  return reply
    .code(problem.status)
    .headers({ ...problem.headers, ...(isTokenRequest && { pragma: 'no-cache' }) })
    .type(isTokenRequest ? 'application/json; charset=utf-8' : problemType)
    .serializer((document: unknown) => JSON.stringify(document))
    .send(isTokenRequest ? tokenErrorOf(problem) : problemDocument(problem, id))
}

/** What the framework refuses, in our own terms. */
const frameworkRefusals: Readonly<Record<string, () => Problem>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => new Problem('unsupported_media_type'),
  FST_ERR_CTP_BODY_TOO_LARGE: () =>
    new Problem('body_too_large', { detail: `A body may have ${bodyLimit} bytes.` }),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    new Problem('malformed_request', { detail: 'Content-Length is not the length of the body.' }),
  FST_ERR_BAD_URL: () => new Problem('malformed_request', { detail: 'The URL is malformed.' }),
  FST_ERR_MAX_PARAM_LENGTH: () => new Problem('not_found'),
}

function problemOf(error: FastifyError, request: FastifyRequest, formats: FormatDetails): Problem {
  if (error instanceof Problem) return error
  if (error.validation) return schemaProblem(error.validation, formats, bodyFaults(request))
  const refusal = frameworkRefusals[error.code]
  return refusal ? refusal() : new Problem('internal_error', { cause: error })
}
