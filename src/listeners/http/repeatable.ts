import type { FastifyReply, FastifyRequest } from 'fastify'
import { stringify } from 'safe-stable-stringify'
import { Secret } from '../../domain/secret.ts'
import { requireUnchanged } from '../../operations/approvals/subject-state.ts'
import type { Answer, RepeatableRequest } from '../../operations/idempotency/idempotency.ts'
import { requireCaller } from './authentication.ts'
import { parseIdempotencyKey } from './request.ts'

/** The request under its idempotency key, or null where none was sent. */
export function repeatable(
  request: FastifyRequest,
  { bearsSecret = false } = {},
): RepeatableRequest | null {
  const idempotencyKey = parseIdempotencyKey(request.headers)
  if (idempotencyKey === null) return null
  const [path] = request.url.split('?')
  const { carriesOut, clientId } = requireCaller(request)
  return {
    clientId,
    // A caller's key has no space, so no caller can use the key of an approved request.
    idempotencyKey: carriesOut ? `approval ${idempotencyKey}` : idempotencyKey,
    // Members in one order, so that the same body is the same however it was written.
    request: new Secret(`${request.method}\n${path}\n${stringify(request.body ?? null)}`),
    bearsSecret,
    ...(carriesOut && {
      assertBefore: (connection) => requireUnchanged(connection, carriesOut.drawnFrom),
    }),
  }
}

/** The result of an operation, marked where it is the first answer again. */
export function markReplay<Result>(reply: FastifyReply, answer: Answer<Result>): Result {
  if (answer.replayed) reply.header('idempotency-replayed', 'true')
  return answer.result
}

/** Answers a change that has nothing to show. */
export function noContent(reply: FastifyReply, answer: Answer<null>): FastifyReply {
  markReplay(reply, answer)
  return reply.code(204).send()
}
