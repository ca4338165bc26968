import Type from 'typebox'
import { isUuid } from '../../../domain/identifiers.ts'
import * as records from '../../../operations/authorizations/records.ts'
import { cutPage, PageQuerySchema, parseLimit, readCursor } from '../../http/pages.ts'
import { type PrivateApi, parsePublicToken, support } from '../api.ts'
import * as schemas from '../schemas/card-authorizations.ts'

/** Routes that list the authorizations of a card with their decline reasons. */
export function cardAuthorizationRoutes({ app, cards }: PrivateApi): void {
  const tags = ['Cards']
  app.get(
    '/cards/:publicToken/authorizations',
    {
      config: support,
      schema: {
        operationId: 'listCardAuthorizations',
        summary: 'List authorizations of a card',
        description: 'Approved and declined, newest first, each with the result of every check.',
        tags,
        params: Type.Object({ publicToken: Type.String() }),
        querystring: PageQuerySchema,
        response: { 200: Type.Array(schemas.RecordedAuthorizationSchema) },
      },
    },
    async (request, reply) => {
      const { cursor, limit } = request.query
      const pageSize = parseLimit(limit)
      const before = readCursor(cursor, ([id]) => (isUuid(id) ? id : null))
      const page = { before, limit: pageSize + 1 }
      const listed = await records.listAuthorizations(cards, parsePublicToken(request), page)
      return cutPage(request, reply, listed, {
        limit: pageSize,
        toPosition: (last) => [last.authorizationId],
      })
    },
  )
  app.get(
    '/cards/:publicToken/authorizations/:authorizationId',
    {
      config: support,
      schema: {
        operationId: 'readCardAuthorization',
        summary: 'Explain an authorization',
        description:
          'Every check in the order in which it ran, with its result and time. The check with ' +
          'a `responseCode` declined the request.',
        tags,
        params: Type.Object({ publicToken: Type.String(), authorizationId: Type.String() }),
        response: { 200: schemas.RecordedAuthorizationSchema },
      },
    },
    async (request) => {
      const { authorizationId } = request.params
      const publicToken = parsePublicToken(request)
      return records.findAuthorization(cards, publicToken, authorizationId)
    },
  )
}
