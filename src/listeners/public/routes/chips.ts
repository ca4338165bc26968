import * as commands from '../../../operations/chips/requested-commands.ts'
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
      const requester = createRequester(request)
      const found = await commands.findCardChips(issuing, requester, parsePublicToken(request))
      return {
        chips: found.chips.map(describeChip),
        commands: found.commands.map(describeCommand),
      }
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
      const answer = await commands.requestChipCommand(
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

type CardChips = Awaited<ReturnType<typeof commands.findCardChips>>

const describeChip = (chip: CardChips['chips'][number]) => ({
  panSequenceNumber: chip.panSequenceNumber,
  highestAtc: chip.highestAtc,
  keyVersion: chip.keyVersion,
  ...(chip.remainingOfflineTries !== null &&
    chip.offlineTriesAt !== null && {
      remainingOfflineTries: chip.remainingOfflineTries,
      reportedAt: chip.offlineTriesAt.toISOString(),
    }),
})

const describeCommand = (command: CardChips['commands'][number]) => ({
  commandNumber: command.number,
  command: command.command,
  state: command.state,
  ...(command.tag !== null && { tag: command.tag.toUpperCase() }),
  queuedAt: command.createdAt.toISOString(),
  sentCount: command.sentCount,
  ...(command.sentAt !== null && { sentAt: command.sentAt.toISOString() }),
  ...(command.endedAt !== null && { endedAt: command.endedAt.toISOString() }),
})
