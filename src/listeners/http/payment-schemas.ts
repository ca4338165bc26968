import Type from 'typebox'
import { laterMessages } from '../../domain/payment.ts'
import { effectMember, paymentSums } from './payment-members.ts'
import { recordedTransactionMembers } from './transaction-members.ts'

const { merchant, networkTransactionId, transactionType } = recordedTransactionMembers
const reference = Type.Optional(
  Type.String({ description: "The network's own.", examples: ['512345678901'] }),
)

const paymentMembers = {
  paymentId: Type.String({ format: 'uuid' }),
  publicToken: Type.String({ examples: ['4820117360'] }),
  ...paymentSums,
  openedBy: Type.Enum(['authorization', 'increment', 'advice', 'clearing', 'refund'], {
    description: '`clearing`: a forced payment. `refund`: a credit payment.',
  }),
  flagged: Type.Boolean({
    description:
      'Whether an increment opened the payment, or an advice held an amount of it again.',
  }),
  openedAt: Type.String({ format: 'date-time' }),
  holdExpiresAt: Type.Optional(
    Type.String({ format: 'date-time', description: 'Left out if it never held anything.' }),
  ),
  transactionType: Type.Optional(transactionType),
  networkTransactionId,
  reference,
  merchant,
}

/** A payment as both listeners return it. */
export const PaymentSchema = Type.Object(paymentMembers)

/** The same with what changed it. */
export const PaymentWithMessagesSchema = Type.Object({
  ...paymentMembers,
  messages: Type.Array(
    Type.Object({
      messageId: Type.String({ format: 'uuid' }),
      message: Type.Enum([...laterMessages]),
      effect: effectMember,
      amount: Type.Integer({
        description: 'What the message takes back, holds or moves.',
        examples: [1234],
      }),
      applied: Type.Integer({ description: 'What it changed.', examples: [1234] }),
      isFinal: Type.Optional(
        Type.Boolean({ description: 'Of a clearing: whether no further one follows.' }),
      ),
      reference,
      merchant,
      receivedAt: Type.String({ format: 'date-time' }),
    }),
    { description: 'After the authorization that opened it, in their order; up to 1,000.' },
  ),
})
