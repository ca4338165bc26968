import { noContent, repeatable } from '../../http/repeatable.ts'
import { changeCardStatus } from '../../issuing/change-card-status.ts'
import { readCardStatus } from '../../issuing/read-card-status.ts'
import { type Api, callerOf, publicTokenOf } from '../api.ts'
import { CardParamsSchema, ChangeCardStatusSchema } from '../schemas/requests.ts'
import { CardStatusSchema, NoContentSchema } from '../schemas/responses.ts'

export function cardStatusRoutes({ app, base, issuing }: Api): void {
  app.get(
    `${base}/cards/:publicToken/status`,
    {
      config: { access: 'cards.read' },
      schema: {
        operationId: 'getCardStatus',
        summary: "Read a card's status",
        tags: ['Cards'],
        params: CardParamsSchema,
        response: { 200: CardStatusSchema },
      },
    },
    async (request) => readCardStatus(issuing, callerOf(request), publicTokenOf(request)),
  )

  app.put(
    `${base}/cards/:publicToken/status`,
    {
      config: {
        access: 'cards.write',
        repeatable: true,
        bodyRequired: true,
        problems: ['card_status_conflict'],
      },
      schema: {
        operationId: 'changeCardStatus',
        summary: "Change a card's status",
        description: 'Setting the status that the card has changes nothing.',
        tags: ['Cards'],
        params: CardParamsSchema,
        body: ChangeCardStatusSchema,
        response: { 204: NoContentSchema },
      },
    },
    async (request, reply) => {
      const { cardStatusCode, ...note } = request.body
      const answer = await changeCardStatus(
        issuing,
        callerOf(request),
        publicTokenOf(request),
        cardStatusCode,
        note,
        repeatable(request),
      )
      return noContent(reply, answer)
    },
  )
}
