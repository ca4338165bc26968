import Type, { type Static } from 'typebox'
import type { Requester } from '../../../domain/client.ts'
import type { Merchant } from '../../../domain/merchant.ts'
import type { Money } from '../../../domain/money.ts'
import { SimulatedAuthorizationSchema } from '../../../operations/authorizations/authorization.ts'
import type { MessageAnswer } from '../../../operations/payments/message-answer.ts'
import { MessageResultSchema } from '../../http/payment-members.ts'
import { markReplay, repeatable } from '../../http/repeatable.ts'
import { alwaysWith, type BodyRule, requireExactlyOne } from '../../http/request.ts'
import {
  clearingRule,
  holdMembers,
  moneyMembers,
  moneyRules,
  transactionMembers,
} from '../../http/transaction-members.ts'
import { closed } from '../../http/validation.ts'
import { createRequester, type PublicApi } from '../api.ts'
import type { Simulate } from './simulator.ts'

const namedMembers = {
  publicToken: Type.String({ maxLength: 32, examples: ['4820117360'] }),
  paymentId: Type.Optional(Type.String({ format: 'id' })),
  networkTransactionId: transactionMembers.networkTransactionId,
}

const messageMembers = {
  ...namedMembers,
  messageKey: Type.Optional(
    Type.String({
      maxLength: 64,
      format: 'message-key',
      description: "The network's own id. A repeat with it gets the first result.",
    }),
  ),
}

export const SimulateIncrementSchema = Type.Object({ ...namedMembers, ...moneyMembers }, closed)

export const SimulateReversalSchema = Type.Object(
  {
    ...messageMembers,
    amount: Type.Optional(moneyMembers.amount),
    currency: Type.Optional(moneyMembers.currency),
    amountIs: Type.Optional(Type.Enum(['takenBack', 'remaining'])),
  },
  closed,
)

export const SimulateAdviceSchema = Type.Object(
  {
    ...messageMembers,
    ...moneyMembers,
    merchant: transactionMembers.merchant,
    holdExpiresAt: holdMembers.holdExpiresAt,
  },
  closed,
)

export const SimulateClearingSchema = Type.Object(
  {
    ...messageMembers,
    ...moneyMembers,
    merchant: transactionMembers.merchant,
    isFinal: Type.Optional(
      Type.Boolean({ description: 'Whether no clearing of the payment follows. Default: true.' }),
    ),
  },
  closed,
)

export const SimulateRefundSchema = Type.Object(
  { ...messageMembers, ...moneyMembers, merchant: transactionMembers.merchant },
  closed,
)

interface Named {
  readonly publicToken: string
  readonly paymentId?: string
  readonly networkTransactionId?: string
  readonly messageKey?: string
  readonly merchant?: Merchant
}

/** Sends messages of the simulated card network, in a sandbox only. */
export interface PaymentSimulator {
  reverse(
    caller: Requester,
    message: Named & { readonly money: Money | null; readonly isRemaining: boolean },
  ): Promise<MessageAnswer>
  advise(
    caller: Requester,
    message: Named & { readonly money: Money; readonly holdExpiresAt: Date | null },
  ): Promise<MessageAnswer>
  clear(
    caller: Requester,
    message: Named & {
      readonly money: Money
      readonly isFinal: boolean
      readonly isRefund: boolean
    },
  ): Promise<MessageAnswer>
}

const oneTarget = requireExactlyOne('paymentId', 'networkTransactionId')
const config = {
  access: 'simulator.write',
  notRepeatable: '`messageKey` makes it repeatable',
  bodyRequired: true,
  problems: ['card_not_found'],
} as const
/** A refund always moves money. */
const refundRule: BodyRule = (body) => clearingRule({ ...body, isRefund: true })
const answers = { tags: ['Simulator'], response: { 200: MessageResultSchema } }

/** Removes what a named message does not have. */
const toNamed = (body: Static<typeof SimulateRefundSchema>) => {
  const { amount, currency, ...named } = body
  return { ...named, money: { amount, currency } }
}

const toAdvice = ({ holdExpiresAt, ...named }: Static<typeof SimulateAdviceSchema>) => ({
  ...toNamed(named),
  holdExpiresAt: holdExpiresAt === undefined ? null : new Date(holdExpiresAt),
})

export function paymentSimulatorRoutes(
  { app, base }: PublicApi,
  simulate: Simulate,
  simulator: PaymentSimulator,
): void {
  app.post(
    `${base}/simulator/increments`,
    {
      config: {
        access: 'simulator.write',
        repeatable: true,
        bodyRequired: true,
        bodyRules: [oneTarget],
        problems: ['card_not_found'],
      },
      schema: {
        operationId: 'simulateIncrement',
        summary: 'Simulate an increment',
        description: 'Sandbox only. Authorizes an amount that raises a payment.',
        tags: ['Simulator'],
        body: SimulateIncrementSchema,
        response: { 200: SimulatedAuthorizationSchema },
      },
    },
    async (request, reply) => {
      const { paymentId = null, ...members } = request.body
      const simulation = { ...members, increment: { paymentId } }
      const repeat = repeatable(request)
      const onWaiting = () => request.inFlight?.leave()
      const caller = { ...createRequester(request), onWaiting }
      return markReplay(reply, await simulate(caller, simulation, repeat))
    },
  )

  app.post(
    `${base}/simulator/reversals`,
    {
      config: {
        ...config,
        bodyRules: [oneTarget, ...moneyRules, alwaysWith('amount', 'amountIs')],
      },
      schema: {
        ...answers,
        operationId: 'simulateReversal',
        summary: 'Simulate a reversal',
        description: 'Sandbox only. Without an amount, everything that is open is taken back.',
        body: SimulateReversalSchema,
      },
    },
    async (request) => {
      const { amount, amountIs, currency, ...named } = request.body
      return simulator.reverse(createRequester(request), {
        ...named,
        money: amount === undefined || currency === undefined ? null : { amount, currency },
        isRemaining: amountIs === 'remaining',
      })
    },
  )

  app.post(
    `${base}/simulator/advices`,
    {
      config: { ...config, bodyRules: [oneTarget] },
      schema: {
        ...answers,
        operationId: 'simulateAdvice',
        summary: 'Simulate an advice',
        description: 'Sandbox only. The network decided what is held from now on.',
        body: SimulateAdviceSchema,
      },
    },
    async (request) => simulator.advise(createRequester(request), toAdvice(request.body)),
  )

  app.post(
    `${base}/simulator/clearings`,
    {
      config: { ...config, bodyRules: [clearingRule] },
      schema: {
        ...answers,
        operationId: 'simulateClearing',
        summary: 'Simulate a clearing',
        description: 'Sandbox only. Without a known payment, it is a forced one.',
        body: SimulateClearingSchema,
      },
    },
    async (request) => {
      const { isFinal = true, ...body } = request.body
      const message = { ...toNamed(body), isFinal, isRefund: false }
      return simulator.clear(createRequester(request), message)
    },
  )

  app.post(
    `${base}/simulator/refunds`,
    {
      config: { ...config, bodyRules: [refundRule] },
      schema: {
        ...answers,
        operationId: 'simulateRefund',
        summary: 'Simulate a refund',
        description: 'Sandbox only. Without a known payment, it is a credit payment.',
        body: SimulateRefundSchema,
      },
    },
    async (request) => {
      const message = { ...toNamed(request.body), isFinal: false, isRefund: true }
      return simulator.clear(createRequester(request), message)
    },
  )
}
