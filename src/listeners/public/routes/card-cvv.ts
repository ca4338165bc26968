import { blockCvv, findTryStatus, unblock } from '../../../operations/cards/tries.ts'
import { noContent, repeatable } from '../../http/repeatable.ts'
import { createRequester, type PublicApi, parsePublicToken } from '../api.ts'
import * as cardSchemas from '../schemas/cards.ts'

export function cardCvvRoutes({ app, base, issuing }: PublicApi): void {
  const path = `${base}/card-cvv/:publicToken/cvv/status`

  app.get(
    path,
    {
      config: { access: 'cvv.read' },
      schema: {
        operationId: 'getCvvStatus',
        summary: 'Get CVV status',
        tags: ['CVV'],
        params: cardSchemas.CardParamsSchema,
        response: { 200: cardSchemas.TryStatusSchema },
      },
    },
    async (request) =>
      findTryStatus(issuing, createRequester(request), parsePublicToken(request), 'cvv'),
  )

  app.put(
    path,
    {
      config: {
        access: 'cvv.write',
        repeatable: true,
        bodyRequired: true,
        problems: ['card_closed'],
      },
      schema: {
        operationId: 'updateCvvStatus',
        summary: 'Unblock CVV',
        description: '`Unblocked` restores the tries. `Blocked` blocks the CVV at once.',
        tags: ['CVV'],
        params: cardSchemas.CardParamsSchema,
        body: cardSchemas.UpdateCvvStatusSchema,
        response: { 204: cardSchemas.NoContentSchema },
      },
    },
    async (request, reply) => {
      const { status, ...note } = request.body
      const caller = createRequester(request)
      const publicToken = parsePublicToken(request)
      const repeat = repeatable(request)
      const answer =
        status === 'Blocked'
          ? await blockCvv(issuing, caller, { publicToken, note }, repeat)
          : await unblock(issuing, caller, { publicToken, kind: 'cvv', note }, repeat)
      return noContent(reply, answer)
    },
  )
}
