import Type, { type Static } from 'typebox'
import type { Money } from '../../../domain/money.ts'
import { toMoney } from '../../../domain/money.ts'
import { Pin } from '../../../domain/pin.ts'
import { alwaysWith } from '../../http/request.ts'
import { transactionMembers } from '../../http/transaction-members.ts'
import { closed, optional, stringPatterns } from '../../http/validation.ts'
import {
  OfflinePinSchema,
  type TakenAnswer,
  TakenAnswerSchema,
  type VirtualChip,
  VirtualChipSchema,
} from '../../http/virtual-chip-members.ts'
import { createRequester, type PublicApi } from '../api.ts'
import { CardParamsSchema } from '../schemas/cards.ts'

const secret = { 'x-secret': true } as const
const tags = ['Simulator']

const DataSchema = Type.String({
  pattern: '^(?:[0-9A-Fa-f]{2}){1,255}$',
  description: 'Field 55 in hexadecimal digits.',
  examples: ['910811223344008000007100'],
})

export const MakeChipSchema = Type.Object(
  {
    offlineTryLimit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 15,
        description: 'Of the PIN in the chip. Default: the limit of the product.',
        examples: [3],
      }),
    ),
  },
  optional,
)

export const ChipTransactionSchema = Type.Object(
  {
    amount: transactionMembers.amount,
    currency: transactionMembers.currency,
    pin: Type.Optional(
      Type.String({
        pattern: stringPatterns.pin,
        description: 'The PIN that the chip compares itself.',
        examples: ['1357'],
        ...secret,
      }),
    ),
  },
  optional,
)

const MadeCryptogramSchema = Type.Object({
  chip: Type.Object({ data: DataSchema }),
  atc: Type.Integer({ minimum: 1, maximum: 65_535 }),
  decision: Type.Enum(['online', 'declined'], {
    description:
      '`declined`: the application is blocked, and the chip itself declines. The request can ' +
      'still go to the issuer, whose answer can unblock the application.',
    examples: ['online'],
  }),
  offlinePin: OfflinePinSchema,
  remainingOfflineTries: Type.Integer({ minimum: 0, maximum: 15, examples: [3] }),
})

export const ChipAnswerSchema = Type.Object(
  {
    chip: Type.Optional(Type.Object({ data: DataSchema }, closed)),
    approved: Type.Boolean({ description: 'Whether the issuer approved.' }),
  },
  closed,
)

/** The virtual chips of the client's own cards, in a sandbox only. */
export interface VirtualChips {
  make(clientId: string, publicToken: string, offlineTryLimit: number | null): Promise<VirtualChip>
  read(clientId: string, publicToken: string): Promise<VirtualChip>
  purchase(
    clientId: string,
    publicToken: string,
    purchase: { readonly money: Money | null; readonly offlinePin: Pin | null },
  ): Promise<Static<typeof MadeCryptogramSchema>>
  takeAnswer(
    clientId: string,
    publicToken: string,
    data: Uint8Array | null,
    isApproved: boolean,
  ): Promise<TakenAnswer>
}

const problems = ['card_not_found', 'virtual_chip_unusable'] as const

export function virtualChipRoutes(api: PublicApi, chips: VirtualChips): void {
  const path = `${api.base}/simulator/cards/:publicToken/chip`
  chipRoutes(api, path, chips)
  chipTransactionRoutes(api, path, chips)
}

/** The chip itself. */
function chipRoutes({ app }: PublicApi, path: string, chips: VirtualChips): void {
  app.post(
    path,
    {
      config: {
        access: 'simulator.write',
        notRepeatable: 'a repeat makes another chip',
        problems: [...problems],
      },
      schema: {
        operationId: 'makeVirtualChip',
        summary: 'Make the virtual chip of a card',
        description:
          'Sandbox only. The chip has the PIN that the card has now. A further chip replaces the ' +
          'one before, with the next PAN sequence number and a counter from 0.',
        tags,
        params: CardParamsSchema,
        body: MakeChipSchema,
        response: { 201: VirtualChipSchema },
      },
    },
    async (request, reply) => {
      const { clientId } = createRequester(request)
      const { publicToken } = request.params
      const { offlineTryLimit = null } = request.body ?? {}
      reply.code(201)
      return chips.make(clientId, publicToken, offlineTryLimit)
    },
  )

  app.get(
    path,
    {
      config: { access: 'simulator.write', problems: [...problems] },
      schema: {
        operationId: 'readVirtualChip',
        summary: 'Read the virtual chip of a card',
        description: 'Sandbox only. Its counter, its tries and the effects of commands.',
        tags,
        params: CardParamsSchema,
        response: { 200: VirtualChipSchema },
      },
    },
    async (request) => chips.read(createRequester(request).clientId, request.params.publicToken),
  )
}

/** A transaction with the chip: its cryptogram, and the answer to it. */
function chipTransactionRoutes({ app }: PublicApi, path: string, chips: VirtualChips): void {
  app.post(
    `${path}/transactions`,
    {
      config: {
        access: 'simulator.write',
        notRepeatable: 'each call is a transaction of its own',
        bodyRules: [alwaysWith('currency', 'amount'), alwaysWith('amount', 'currency')],
        problems: [...problems],
      },
      schema: {
        operationId: 'startChipTransaction',
        summary: 'Make a cryptogram with the virtual chip',
        description:
          'Sandbox only. The chip counts the transaction, compares the PIN and makes a real ' +
          'cryptogram, which a card network can send.',
        tags,
        params: CardParamsSchema,
        body: ChipTransactionSchema,
        response: { 200: MadeCryptogramSchema },
      },
    },
    async (request) => {
      const { amount, currency, pin } = request.body ?? {}
      return chips.purchase(createRequester(request).clientId, request.params.publicToken, {
        money: toMoney(amount, currency),
        offlinePin: pin === undefined ? null : new Pin(pin),
      })
    },
  )

  app.post(
    `${path}/answers`,
    {
      config: {
        access: 'simulator.write',
        notRepeatable: 'the chip takes one answer to a transaction',
        bodyRequired: true,
        problems: [...problems],
      },
      schema: {
        operationId: 'answerVirtualChip',
        summary: 'Give an answer to the virtual chip',
        description:
          'Sandbox only. The chip verifies that the issuer made the answer to its last ' +
          'cryptogram, and executes the commands in it.',
        tags,
        params: CardParamsSchema,
        body: ChipAnswerSchema,
        response: { 200: TakenAnswerSchema },
      },
    },
    async (request) => {
      const { approved, chip } = request.body
      const data = chip ? Buffer.from(chip.data, 'hex') : null
      const { clientId } = createRequester(request)
      return chips.takeAnswer(clientId, request.params.publicToken, data, approved)
    },
  )
}
