import Type from 'typebox'
import { isUuid } from '../../../domain/identifiers.ts'
import * as records from '../../../operations/authorizations/records.ts'
import { cutPage, PageQuerySchema, parseLimit, readCursor } from '../../http/pages.ts'
import { createRequester, type PublicApi, parsePublicToken } from '../api.ts'
import {
  AuthorizationParamsSchema,
  RecordedAuthorizationSchema,
} from '../schemas/authorizations.ts'
import { CardParamsSchema } from '../schemas/cards.ts'

/** Routes that explain to a client why its cards were approved and declined. */
export function authorizationRoutes({ app, base, issuing }: PublicApi): void {
  const tags = ['Authorizations']
  const list = { access: 'payments.read', lists: true } as const
  const toPosition = ({ authorizationId }: { authorizationId: string }) => [authorizationId]
  const parsePage = ({ cursor, limit }: { cursor?: string; limit?: string }) => ({
    before: readCursor(cursor, ([id]) => (isUuid(id) ? id : null)),
    // One more than asked for shows whether there is a next page.
    limit: parseLimit(limit) + 1,
  })

  app.get(
    `${base}/authorizations`,
    {
      config: list,
      schema: {
        operationId: 'listAuthorizations',
        summary: 'List authorizations',
        description:
          "Approvals and declines of all the client's cards, newest first, each with the " +
          'decline reason and the verdict of every check. Never a value that was checked.',
        tags,
        querystring: PageQuerySchema,
        response: { 200: Type.Array(RecordedAuthorizationSchema) },
      },
    },
    async (request, reply) => {
      const page = parsePage(request.query)
      const rows = await records.listClientAuthorizations(issuing, createRequester(request), page)
      return cutPage(request, reply, rows, { limit: page.limit - 1, toPosition })
    },
  )

  app.get(
    `${base}/cards/:publicToken/authorizations`,
    {
      config: list,
      schema: {
        operationId: 'listCardAuthorizations',
        summary: "List a card's authorizations",
        description: 'Approvals and declines of one card, newest first.',
        tags,
        params: CardParamsSchema,
        querystring: PageQuerySchema,
        response: { 200: Type.Array(RecordedAuthorizationSchema) },
      },
    },
    async (request, reply) => {
      const page = parsePage(request.query)
      const requester = createRequester(request)
      const publicToken = parsePublicToken(request)
      const rows = await records.listClientCardAuthorizations(issuing, requester, publicToken, page)
      return cutPage(request, reply, rows, { limit: page.limit - 1, toPosition })
    },
  )

  app.get(
    `${base}/authorizations/:authorizationId`,
    {
      config: { access: 'payments.read' },
      schema: {
        operationId: 'findAuthorization',
        summary: 'Read an authorization',
        description: 'Why it was approved or declined, check by check.',
        tags,
        params: AuthorizationParamsSchema,
        response: { 200: RecordedAuthorizationSchema },
      },
    },
    async (request) =>
      records.findClientAuthorization(
        issuing,
        createRequester(request),
        request.params.authorizationId,
      ),
  )
}
