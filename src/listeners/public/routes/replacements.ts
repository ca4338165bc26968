import { parseExpiry } from '../../../domain/calendar.ts'
import { completeReplacement, replaceCard } from '../../../operations/cards/replacements.ts'
import { requirePostalCode } from '../../http/postal-address.ts'
import { markReplay, noContent, repeatable } from '../../http/repeatable.ts'
import { EmptyBodySchema } from '../../http/validation.ts'
import { createRequester, type PublicApi, parsePublicToken } from '../api.ts'
import * as cardSchemas from '../schemas/cards.ts'

const tags = ['Life of a card']

export function replaceCardRoute({ app, base, issuing }: PublicApi): void {
  app.post(
    `${base}/cards/:publicToken/replace`,
    {
      config: {
        access: 'cards.write',
        repeatable: true,
        bodyRules: [requirePostalCode('fulfilment')],
        problems: [
          'card_closed',
          'card_already_replaced',
          'product_not_available',
          'pin_not_transferable',
        ],
      },
      schema: {
        operationId: 'replaceCard',
        summary: 'Replace a card',
        description:
          'Creates a card with another number that replaces this card. The replaced card ' +
          'works until the new one is activated, unless the reason ends it.',
        tags,
        params: cardSchemas.CardParamsSchema,
        body: cardSchemas.ReplaceCardSchema,
        response: { 200: cardSchemas.SuccessorSchema },
      },
    },
    async (request, reply) => {
      const { expiryDate, ...members } = request.body ?? {}
      const expiry = expiryDate === undefined ? null : parseExpiry(expiryDate)
      const answer = await replaceCard(
        issuing,
        createRequester(request),
        { ...members, ...(expiry && { expiry }), publicToken: parsePublicToken(request) },
        repeatable(request),
      )
      const successor = markReplay(reply, answer)
      reply.header('location', `${base}/cards/${successor.publicToken}`)
      return successor
    },
  )
}

export function completeReplacementRoutes({ app, base, issuing }: PublicApi): void {
  for (const method of ['put', 'patch'] as const) {
    app[method](
      `${base}/cards/:publicToken/complete-replacement`,
      {
        config: { access: 'cards.write', repeatable: true, problems: ['not_replaced'] },
        schema: {
          operationId: 'completeReplacement',
          summary: 'Complete a replacement',
          description:
            'Retires a replaced card now, whether or not its successor has been activated.',
          tags,
          // The document describes one of the two methods, which do the same.
          hide: method === 'patch',
          params: cardSchemas.CardParamsSchema,
          body: EmptyBodySchema,
          response: { 204: cardSchemas.NoContentSchema },
        },
      },
      async (request, reply) => {
        const answer = await completeReplacement(
          issuing,
          createRequester(request),
          parsePublicToken(request),
          repeatable(request),
        )
        return noContent(reply, answer)
      },
    )
  }
}
