import { findCardChips } from '../../../operations/chips/card-chips.ts'
import { requestChipCommand } from '../../../operations/chips/requested-commands.ts'
import { markReplay, repeatable } from '../../http/repeatable.ts'
import { createRequester, type PublicApi, parsePublicToken } from '../api.ts'
import { CardParamsSchema } from '../schemas/cards.ts'
import * as schemas from '../schemas/chips.ts'

const tags = ['Chips']

/** Routes by which a client reads the chip of a card and commands it. */
export function cardChipRoutes({ app, base, issuing }: PublicApi): void {
  app.get(
    `${base}/cards/:publicToken/chip`,
    {
      config: { access: 'cards.read', problems: ['card_without_chip'] },
      schema: {
        operationId: 'getCardChip',
        summary: "Read a card's chip",
        description:
          'The chips of the card that have made a valid cryptogram, and the 50 newest commands, ' +
          'newest first.',
        tags,
        params: CardParamsSchema,
        response: { 200: schemas.CardChipSchema },
      },
    },
    async (request) => {
      const { chips, chipUpdate, commands } = await findCardChips(
        issuing,
        createRequester(request),
        parsePublicToken(request),
      )
      return { chipUpdate, chips: [...chips], commands: [...commands] }
    },
  )

  app.post(
    `${base}/cards/:publicToken/chip/commands`,
    {
      config: {
        access: 'cards.write',
        repeatable: true,
        bodyRequired: true,
        problems: ['card_closed', 'card_without_chip', 'too_many_chip_commands'],
      },
      schema: {
        operationId: 'queueChipCommand',
        summary: 'Command the chip of a card',
        description:
          'Queues a command. It travels in the answer to the next online transaction of the ' +
          'chip, and again until the chip reports a result.',
        tags,
        params: CardParamsSchema,
        body: schemas.QueueChipCommandSchema,
        response: { 201: schemas.QueuedChipCommandSchema },
      },
    },
    async (request, reply) => {
      const answer = await requestChipCommand(
        issuing,
        createRequester(request),
        { publicToken: parsePublicToken(request), ...request.body },
        repeatable(request),
      )
      reply.code(201)
      return markReplay(reply, answer)
    },
  )
}
