import type { FastifyReply, FastifyRequest } from 'fastify'
import { stringify } from 'safe-stable-stringify'
import { Problem } from '../errors.ts'
import { callerOf as authenticatedCaller } from '../http/authentication.ts'
import { idempotencyKeyOf } from '../http/request-headers.ts'
import type { Server } from '../http/server.ts'
import type { Answer, RepeatableRequest } from '../idempotency/remembered.ts'
import type { Caller, Issuing } from '../issuing/issuing.ts'

/** What the routes of the public listener work with. */
export interface Api {
  readonly app: Server['app']
  readonly issuing: Issuing
  /** What every path of the specification begins with: `/thr/processor`. */
  readonly base: string
}

/** Who calls, as the operations know it. */
export const callerOf = (request: FastifyRequest): Caller => ({
  clientId: authenticatedCaller(request).clientId,
  requestId: request.id,
})

/** The card that a path names. @throws `Problem` `card_not_found` when it can be no card's token. */
export function publicTokenOf({ params }: { params: { publicToken: string } }): string {
  if (!/^[1-9][0-9]{9}$/.test(params.publicToken)) throw new Problem('card_not_found')
  return params.publicToken
}

/** The request under its idempotency key, or null where none was sent. */
export function repeatable(
  request: FastifyRequest,
  { bearsSecret = false } = {},
): RepeatableRequest | null {
  const idempotencyKey = idempotencyKeyOf(request.headers)
  if (idempotencyKey === null) return null
  const [path] = request.url.split('?')
  return {
    clientId: authenticatedCaller(request).clientId,
    idempotencyKey,
    // Members in one order, so that the same body is the same however it was written.
    request: `${request.method}\n${path}\n${stringify(request.body ?? null)}`,
    bearsSecret,
  }
}

/** The result of an operation, marked where it is the first answer again. */
export function answerOf<Result>(reply: FastifyReply, answer: Answer<Result>): Result {
  if (answer.replayed) reply.header('idempotency-replayed', 'true')
  return answer.result
}

/** Answers a change that has nothing to show. */
export function noContent(reply: FastifyReply, answer: Answer<null>): FastifyReply {
  answerOf(reply, answer)
  return reply.code(204).send()
}
