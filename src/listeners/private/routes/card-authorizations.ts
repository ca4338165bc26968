import Type from 'typebox'
import { isUuid } from '../../../domain/identifiers.ts'
import * as records from '../../../operations/authorizations/records.ts'
import { cutPage, PageQuerySchema, parseLimit, readCursor } from '../../http/pages.ts'
import { closed } from '../../http/validation.ts'
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

/** Counts approved and declined authorizations for a chart. */
export function authorizationCountsRoute({ app, cards }: PrivateApi): void {
  app.get(
    '/figures/authorizations',
    {
      config: support,
      schema: {
        operationId: 'countAuthorizations',
        summary: 'Count approvals and declines over time',
        description:
          'By intervals of a `minute` (at most a day), an `hour` (31 days) or a `day` (100 ' +
          'days). Intervals without requests are omitted. Requests about unknown cards are not ' +
          'counted.',
        tags: ['Figures'],
        querystring: Type.Object(
          {
            from: Type.String({ format: 'instant' }),
            to: Type.String({ format: 'instant' }),
            bucket: Type.Enum(['minute', 'hour', 'day'] as const),
          },
          closed,
        ),
        response: { 200: Type.Array(schemas.AuthorizationFiguresSchema) },
      },
    },
    async ({ query: { bucket, from, to } }) =>
      records.countAnswers(cards, { bucket, from: new Date(from), to: new Date(to) }),
  )
}
