import type { FastifyRequest } from 'fastify'
import { isPublicToken } from '../domain/identifiers.ts'
import { Problem } from '../errors.ts'
import { callerOf as authenticatedCaller } from '../http/authentication.ts'
import type { Server } from '../http/server.ts'
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
  if (!isPublicToken(params.publicToken)) throw new Problem('card_not_found')
  return params.publicToken
}
