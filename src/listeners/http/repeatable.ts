import type { FastifyReply, FastifyRequest } from 'fastify'
import { stringify } from 'safe-stable-stringify'
import { Secret } from '../../domain/secret.ts'
import { requireUnchanged } from '../../operations/approvals/subject-state.ts'
import type { Answer, RepeatableRequest } from '../../operations/idempotency/idempotency.ts'
import { requireCaller } from './authentication.ts'
import { parseIdempotencyKey } from './request.ts'

/** Returns the request with its idempotency key, or null without a key. */
export function repeatable(
  request: FastifyRequest,
  {
    bearsSecret = false,
    body = request.body,
  }: {
    readonly bearsSecret?: boolean
    /** The body in a form that is equal for bodies of the same meaning. */
    readonly body?: unknown
  } = {},
): RepeatableRequest | null {
  const idempotencyKey = parseIdempotencyKey(request.headers)
  if (idempotencyKey === null) return null
  const [path] = request.url.split('?')
  const { carriesOut, clientId } = requireCaller(request)
  return {
    clientId,
    // A caller's key has no space, so no caller can use the key of an approved request.
    idempotencyKey: carriesOut ? `approval ${idempotencyKey}` : idempotencyKey,
    // Members are sorted, so that equal bodies have equal texts.
    request: new Secret(`${request.method}\n${path}\n${stringify(body ?? null)}`),
    bearsSecret,
    ...(carriesOut && {
      assertBefore: (connection) => requireUnchanged(connection, carriesOut.drawnFrom),
    }),
  }
}

/** Returns the result of an operation, and marks a replayed answer. */
export function markReplay<Result>(reply: FastifyReply, answer: Answer<Result>): Result {
  if (answer.replayed) reply.header('idempotency-replayed', 'true')
  return answer.result
}

/** Answers a change that returns nothing. */
export function noContent(reply: FastifyReply, answer: Answer<null>): FastifyReply {
  markReplay(reply, answer)
  return reply.code(204).send()
}
