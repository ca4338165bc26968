import Type from 'typebox'
import { isUuid } from '../../../domain/identifiers.ts'
import * as records from '../../../operations/payments/records.ts'
import { cutPage, PageQuerySchema, parseLimit, readCursor } from '../../http/pages.ts'
import { PaymentSchema, PaymentWithMessagesSchema } from '../../http/payment-schemas.ts'
import { type PrivateApi, parsePublicToken, support } from '../api.ts'

/** Routes by which support staff read what a card of any client holds, and what has moved. */
export function cardPaymentRoutes({ app, cards }: PrivateApi): void {
  const tags = ['Cards']
  app.get(
    '/cards/:publicToken/payments',
    {
      config: support,
      schema: {
        operationId: 'listCardPayments',
        summary: 'List payments of a card',
        description: 'What the card holds, and what has moved, newest first.',
        tags,
        params: Type.Object({ publicToken: Type.String() }),
        querystring: PageQuerySchema,
        response: { 200: Type.Array(PaymentSchema) },
      },
    },
    async (request, reply) => {
      const { cursor, limit } = request.query
      const pageSize = parseLimit(limit)
      const before = readCursor(cursor, ([id]) => (isUuid(id) ? id : null))
      const page = { before, limit: pageSize + 1 }
      const listed = await records.listPaymentsOfAnyCard(cards, parsePublicToken(request), page)
      return cutPage(request, reply, listed, {
        limit: pageSize,
        toPosition: ({ paymentId }) => [paymentId],
      })
    },
  )
  app.get(
    '/cards/:publicToken/payments/:paymentId',
    {
      config: support,
      schema: {
        operationId: 'readCardPayment',
        summary: 'Read a payment of a card',
        description:
          'With the messages after its authorization, in their order: what each stated, and ' +
          'what it changed.',
        tags,
        params: Type.Object({ publicToken: Type.String(), paymentId: Type.String() }),
        response: { 200: PaymentWithMessagesSchema },
      },
    },
    async (request) =>
      records.findPaymentOfAnyCard(cards, parsePublicToken(request), request.params.paymentId),
  )
}
