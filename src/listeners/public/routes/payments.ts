import Type from 'typebox'
import { isUuid } from '../../../domain/identifiers.ts'
import * as records from '../../../operations/payments/records.ts'
import { cutPage, PageQuerySchema, parseLimit, readCursor } from '../../http/pages.ts'
import { PaymentSchema, PaymentWithMessagesSchema } from '../../http/payment-schemas.ts'
import { createRequester, type PublicApi, parsePublicToken } from '../api.ts'
import { CardParamsSchema } from '../schemas/cards.ts'
import { PaymentParamsSchema } from '../schemas/payments.ts'

/** Routes by which a client reads what its cards hold and what has moved. */
export function paymentRoutes({ app, base, issuing }: PublicApi): void {
  const tags = ['Payments']
  const list = { access: 'payments.read', lists: true } as const
  const toPosition = ({ paymentId }: { paymentId: string }) => [paymentId]
  const parsePage = ({ cursor, limit }: { cursor?: string; limit?: string }) => ({
    before: readCursor(cursor, ([id]) => (isUuid(id) ? id : null)),
    // One more than asked for shows whether there is a next page.
    limit: parseLimit(limit) + 1,
  })

  app.get(
    `${base}/payments`,
    {
      config: list,
      schema: {
        operationId: 'listPayments',
        summary: 'List payments',
        description: "What all the client's cards hold, and what has moved, newest first.",
        tags,
        querystring: PageQuerySchema,
        response: { 200: Type.Array(PaymentSchema) },
      },
    },
    async (request, reply) => {
      const page = parsePage(request.query)
      const rows = await records.listPayments(issuing, createRequester(request), page)
      return cutPage(request, reply, rows, { limit: page.limit - 1, toPosition })
    },
  )

  app.get(
    `${base}/cards/:publicToken/payments`,
    {
      config: list,
      schema: {
        operationId: 'listCardPayments',
        summary: "List a card's payments",
        description: 'What one card holds, and what has moved, newest first.',
        tags,
        params: CardParamsSchema,
        querystring: PageQuerySchema,
        response: { 200: Type.Array(PaymentSchema) },
      },
    },
    async (request, reply) => {
      const page = parsePage(request.query)
      const publicToken = parsePublicToken(request)
      const requester = createRequester(request)
      const rows = await records.listCardPayments(issuing, requester, publicToken, page)
      return cutPage(request, reply, rows, { limit: page.limit - 1, toPosition })
    },
  )

  app.get(
    `${base}/payments/:paymentId`,
    {
      config: { access: 'payments.read' },
      schema: {
        operationId: 'findPayment',
        summary: 'Read a payment',
        description: 'With the messages after its authorization, in their order.',
        tags,
        params: PaymentParamsSchema,
        response: { 200: PaymentWithMessagesSchema },
      },
    },
    async (request) =>
      records.findPayment(issuing, createRequester(request), request.params.paymentId),
  )
}
