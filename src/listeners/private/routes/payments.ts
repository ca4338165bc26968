import Type from 'typebox'
import { isPublicToken } from '../../../domain/identifiers.ts'
import { toMembers } from '../../../domain/members.ts'
import { parsePan } from '../../../domain/pan.ts'
import type { AuthorizationRequest } from '../../../operations/authorizations/authorization.ts'
import { refuseCardNumbers } from '../../../operations/authorizations/network-ids.ts'
import { toMessageAnswer } from '../../../operations/payments/message-answer.ts'
import * as payments from '../../../operations/payments/messages.ts'
import { requireCaller } from '../../http/authentication.ts'
import { MessageResultSchema } from '../../http/payment-members.ts'
import { alwaysWith, type BodyRule, requireExactlyOne } from '../../http/request.ts'
import {
  clearingRule,
  holdMembers,
  listNetworkIds,
  messageMembers,
  moneyMembers,
  moneyRules,
  panRule,
  transactionMembers,
} from '../../http/transaction-members.ts'
import { closed, stringPatterns } from '../../http/validation.ts'
import type { PrivateApi } from '../api.ts'

const secret = { 'x-secret': true } as const

const cardMembers = {
  pan: Type.Optional(Type.String({ pattern: stringPatterns.pan, ...secret })),
  publicToken: Type.Optional(Type.String({ maxLength: 32 })),
}

const messageId = (what: string) =>
  Type.String({
    maxLength: 64,
    format: 'message-key',
    description: `The network's own id of the ${what}. A repeat with it gets the first result.`,
    examples: ['20261127-000042'],
  })

const ReversalRequestSchema = Type.Object(
  {
    reversalId: messageId('reversal'),
    ...cardMembers,
    ...messageMembers,
    amount: Type.Optional(moneyMembers.amount),
    currency: Type.Optional(moneyMembers.currency),
    amountIs: Type.Optional(
      Type.Enum(['takenBack', 'remaining'], {
        description:
          'Whether `amount` is what is taken back (default), or what remains of the transaction, ' +
          'as in ISO 8583, field 95.',
      }),
    ),
  },
  closed,
)

const AdviceRequestSchema = Type.Object(
  {
    adviceId: messageId('advice'),
    ...cardMembers,
    ...messageMembers,
    ...moneyMembers,
    merchant: transactionMembers.merchant,
    holdExpiresAt: holdMembers.holdExpiresAt,
  },
  closed,
)

const ClearingSchema = Type.Object(
  {
    clearingId: messageId('clearing'),
    ...cardMembers,
    ...messageMembers,
    ...moneyMembers,
    merchant: transactionMembers.merchant,
    isRefund: Type.Optional(
      Type.Boolean({ description: 'Whether the money moves back to the card. Default: false.' }),
    ),
    isFinal: Type.Optional(
      Type.Boolean({ description: 'Whether no clearing of the payment follows. Default: true.' }),
    ),
  },
  closed,
)

/** How many records a call may have, and how long its body may be. */
const clearingsMost = 1_000
const clearingsBodyLimit = 1_048_576

const ClearingsRequestSchema = Type.Object(
  { clearings: Type.Array(ClearingSchema, { minItems: 1, maxItems: clearingsMost }) },
  closed,
)

export const ClearingResultsSchema = Type.Object({
  results: Type.Array(
    Type.Object({ clearingId: Type.String(), ...MessageResultSchema.properties }),
    { description: 'In the order of the records.' },
  ),
})

const oneCard = requireExactlyOne('pan', 'publicToken')
const cardRules = [oneCard, panRule]
const ownId = 'the id in the body makes it repeatable'
const tags = ['Payments']

/** Applies the rules to each record. */
const recordRules =
  (rules: readonly BodyRule[]): BodyRule =>
  ({ clearings }) => {
    if (!Array.isArray(clearings)) return null
    for (const [index, record] of clearings.entries()) {
      const [fault] = rules.map((rule) => rule(toMembers(record))).filter((each) => each !== null)
      if (fault) return { ...fault, pointer: `/clearings/${index}${fault.pointer}` }
    }
    return null
  }

interface NamedMembers {
  readonly pan?: string
  readonly publicToken?: string
  readonly paymentId?: string
  readonly networkTransactionId?: string
  readonly reference?: string
}

const findCard = ({ pan: digits, publicToken }: NamedMembers): AuthorizationRequest['card'] => {
  const pan = parsePan(digits ?? '')
  return isPublicToken(publicToken) ? { publicToken } : pan && { pan }
}

/** The members that name the payment of a message. */
const toNetworkMessage = (named: NamedMembers, messageKey: string) => ({
  card: findCard(named),
  messageKey,
  paymentId: named.paymentId ?? null,
  networkTransactionId: named.networkTransactionId ?? null,
  reference: named.reference ?? null,
})

/** Takes back an approved amount. */
export function reversePaymentRoute({ app, authorizing }: PrivateApi): void {
  app.post(
    '/network/reversals',
    {
      config: {
        access: 'authorizations.write',
        notRepeatable: ownId,
        bodyRequired: true,
        bodyRules: [
          ...cardRules,
          requireExactlyOne('paymentId', 'networkTransactionId'),
          ...moneyRules,
          alwaysWith('amount', 'amountIs'),
        ],
      },
      schema: {
        operationId: 'reversePayment',
        summary: 'Reverse a payment',
        description:
          'Takes back an approved amount, by default everything that is open, and never more. A ' +
          'reversal whose `networkTransactionId` is unknown is remembered for 24 hours: a later ' +
          'original is declined with `94`.',
        tags,
        body: ReversalRequestSchema,
        response: { 200: MessageResultSchema },
      },
    },
    async (request) => {
      const { amount, amountIs, currency, reversalId } = request.body
      await refuseCardNumbers(authorizing, listNetworkIds(request.body))
      return toMessageAnswer(
        await payments.reversePayment(authorizing, {
          ...toNetworkMessage(request.body, reversalId),
          networkId: requireCaller(request).clientId,
          requestId: request.id,
          money: amount === undefined || currency === undefined ? null : { amount, currency },
          isRemaining: amountIs === 'remaining',
        }),
      )
    },
  )
}

/** Takes an amount that the network decided. */
export function advisePaymentRoute({ app, authorizing }: PrivateApi): void {
  app.post(
    '/network/advices',
    {
      config: {
        access: 'authorizations.write',
        notRepeatable: ownId,
        bodyRequired: true,
        bodyRules: [...cardRules, requireExactlyOne('paymentId', 'networkTransactionId')],
      },
      schema: {
        operationId: 'advisePayment',
        summary: 'Advise of a payment',
        description:
          'The network decided: in stand-in, or at the end of fuelling. The open amount becomes ' +
          '`amount`; an unknown `networkTransactionId` opens a payment.',
        tags,
        body: AdviceRequestSchema,
        response: { 200: MessageResultSchema },
      },
    },
    async (request) => {
      const { adviceId, amount, currency, holdExpiresAt, merchant } = request.body
      await refuseCardNumbers(authorizing, listNetworkIds(request.body))
      return toMessageAnswer(
        await payments.advisePayment(authorizing, {
          ...toNetworkMessage(request.body, adviceId),
          networkId: requireCaller(request).clientId,
          requestId: request.id,
          money: { amount, currency },
          merchant: merchant ?? null,
          holdExpiresAt: holdExpiresAt === undefined ? null : new Date(holdExpiresAt),
        }),
      )
    },
  )
}

/** Moves the money of payments. */
export function clearPaymentsRoute({ app, authorizing }: PrivateApi): void {
  app.post(
    '/network/clearings',
    {
      bodyLimit: clearingsBodyLimit,
      config: {
        access: 'authorizations.write',
        notRepeatable: 'the id of each record makes it repeatable',
        bodyRequired: true,
        lists: true,
        bodyRules: [recordRules([...cardRules, clearingRule])],
      },
      schema: {
        operationId: 'clearPayments',
        summary: 'Clear payments',
        description:
          `Up to ${clearingsMost} records, each with its own result and commit. A record of an ` +
          'unknown payment opens a forced one, a refund a credit payment. After a failure, send ' +
          'all records again: those that were recorded return their first result.',
        tags,
        body: ClearingsRequestSchema,
        response: { 200: ClearingResultsSchema },
      },
    },
    async (request) => {
      const { clearings } = request.body
      const ids = clearings.flatMap((each, at) => listNetworkIds(each, `/clearings/${at}`))
      await refuseCardNumbers(authorizing, ids)
      const results = await payments.clearPayments(
        authorizing,
        clearings.map((clearing) => ({
          ...toNetworkMessage(clearing, clearing.clearingId),
          networkId: requireCaller(request).clientId,
          requestId: request.id,
          money: { amount: clearing.amount, currency: clearing.currency },
          merchant: clearing.merchant ?? null,
          isRefund: clearing.isRefund ?? false,
          isFinal: clearing.isFinal ?? true,
        })),
      )
      return {
        results: clearings.flatMap(({ clearingId }, index) => {
          const result = results[index]
          return result ? [{ clearingId, ...toMessageAnswer(result) }] : []
        }),
      }
    },
  )
}
