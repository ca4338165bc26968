import type { FastifyRequest } from 'fastify'
import { callerOf } from '../../http/authentication.ts'
import type { Operator } from '../../key-management/key-management.ts'

/** Who administers, as its token says. */
export const operatorOf = (request: FastifyRequest): Operator => ({
  clientId: callerOf(request).clientId,
  requestId: request.id,
})
