import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import type { Requester } from '../../../domain/client.ts'
import { isUuid } from '../../../domain/identifiers.ts'
import { type ActPosition, listOperatorActs } from '../../../operations/audit/acts.ts'
import type { ClientOperations } from '../../../operations/clients/clients.ts'

import { callerOf } from '../../http/authentication.ts'
import { pageOf, parseInstant, parseLimit, readCursor } from '../../http/pages.ts'
import type { Server } from '../../http/server.ts'
import { ActSchema, admin, PageQuerySchema } from '../schemas/products.ts'

/** What was done to products, clients and zones. What was done to keys is at `/keys/acts`. */
export function actRoutes(app: Server['app'], administration: ClientOperations): void {
  app.get(
    '/acts',
    {
      config: admin,
      schema: {
        operationId: 'listActs',
        summary: 'List what operators did',
        tags: ['Acts'],
        querystring: PageQuerySchema,
        response: { 200: Type.Array(ActSchema) },
      },
    },
    async (request, reply) => {
      const { cursor, limit } = request.query
      const pageSize = parseLimit(limit)
      const after = readCursor(cursor, parseActPosition)
      const acts = await listOperatorActs(administration, after, pageSize + 1)
      return pageOf(request, reply, acts, pageSize, ({ actId, at }) => [at, actId]).map(
        ({ actId: _, details, ...act }) => ({ ...act, details: JSON.parse(details) as unknown }),
      )
    },
  )
}

/** Where a page of acts ends, as its cursor holds it. */
export function parseActPosition([at, actId]: readonly unknown[]): ActPosition | null {
  const instant = parseInstant(at)
  return instant !== null && isUuid(actId) ? { at: instant, actId } : null
}

/** Who administers, as its token says. */
export const operatorOf = (request: FastifyRequest): Requester => ({
  clientId: callerOf(request).clientId,
  requestId: request.id,
})
