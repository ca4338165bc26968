import Type from 'typebox'
import { isUuid } from '../../../domain/identifiers.ts'
import * as figures from '../../../operations/authorizations/figures.ts'
import { searchAllAuthorizations } from '../../../operations/authorizations/search-all.ts'
import { linkNext, parseInstant, parseLimit, readCursor, writeCursor } from '../../http/pages.ts'
import { type PrivateApi, support } from '../api.ts'
import * as schemas from '../schemas/all-authorizations.ts'

/** Lists the authorizations of all cards. */
export function allAuthorizationsRoute({ app, cards }: PrivateApi): void {
  app.get(
    '/authorizations',
    {
      config: support,
      schema: {
        operationId: 'listAuthorizations',
        summary: 'List authorizations of all cards',
        description:
          'Newest first. A call searches at most 20,000 authorizations: a page of rare ones may ' +
          'have fewer entries than its limit, even none, and a next page.',
        tags: ['Authorizations'],
        querystring: schemas.AuthorizationSearchSchema,
        response: { 200: Type.Array(schemas.FoundAuthorizationSchema) },
      },
    },
    async (request, reply) => {
      const { cursor, from, limit, to, ...search } = request.query
      const { found, next } = await searchAllAuthorizations(
        cards,
        {
          ...search,
          from: from === undefined ? undefined : new Date(from),
          to: to === undefined ? undefined : new Date(to),
        },
        {
          after: readCursor(cursor, ([at, id]) => {
            const recordedAt = parseInstant(at)
            return recordedAt !== null && isUuid(id) ? { recordedAt, authorizationId: id } : null
          }),
          limit: parseLimit(limit),
        },
      )
      if (next) {
        const position = [next.recordedAt, next.authorizationId]
        linkNext(request, reply, { cursor: writeCursor(position) })
      }
      return found
    },
  )
}

/** Counts approved and declined authorizations, for charts. */
export function authorizationCountsRoutes({ app, cards }: PrivateApi): void {
  const tags = ['Figures']
  app.get(
    '/figures/authorizations',
    {
      config: support,
      schema: {
        operationId: 'countAuthorizations',
        summary: 'Count approvals and declines over time',
        description:
          'By intervals of a `minute` (at most a day), an `hour` or `sixHours` (31 days) or a ' +
          '`day` (100 days), of all clients or of one. Intervals without requests are omitted. ' +
          'Requests about unknown cards are not counted.',
        tags,
        querystring: schemas.AuthorizationFiguresQuerySchema,
        response: { 200: Type.Array(schemas.AuthorizationFiguresSchema) },
      },
    },
    async ({ query: { bucket, clientId = null, from, to } }) =>
      figures.countAnswers(cards, { bucket, clientId, from: new Date(from), to: new Date(to) }),
  )
  app.get(
    '/figures/authorizations/clients',
    {
      config: support,
      schema: {
        operationId: 'countAuthorizationsByClient',
        summary: 'Count approvals and declines by client',
        description:
          'The 100 clients with most requests, of at most 31 days. The period begins at a full ' +
          'hour (UTC). Requests about unknown cards are not counted.',
        tags,
        querystring: schemas.ClientFiguresQuerySchema,
        response: { 200: Type.Array(schemas.ClientAuthorizationFiguresSchema) },
      },
    },
    async ({ query: { from, to } }) =>
      figures.countAnswersByClient(cards, { from: new Date(from), to: new Date(to) }),
  )
}
