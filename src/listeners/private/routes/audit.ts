import Type from 'typebox'
import { type ActPosition, listOperatorActs } from '../../../operations/acts/acts.ts'
import { cutPage, PageQuerySchema, parseInstant, parseLimit, readCursor } from '../../http/pages.ts'
import { adminOrAudit, type PrivateApi } from '../api.ts'
import { ActSchema } from '../schemas/products.ts'

/** Lists acts on products, clients and zones. `/keys/acts` lists acts on keys. */
export function listActsRoute({ administration, app }: PrivateApi): void {
  app.get(
    '/acts',
    {
      config: adminOrAudit,
      schema: {
        operationId: 'listActs',
        summary: 'List the acts of operators',
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
      return cutPage(request, reply, acts, {
        limit: pageSize,
        toPosition: ({ at, number }) => [at, number],
      }).map(({ details, number: _, ...act }) => ({
        ...act,
        details: JSON.parse(details) as unknown,
      }))
    },
  )
}

/** Parses the end of a page of acts from its cursor. */
export function parseActPosition([at, number]: readonly unknown[]): ActPosition | null {
  const instant = parseInstant(at)
  return instant !== null && Number.isSafeInteger(number)
    ? { at: instant, number: Number(number) }
    : null
}
