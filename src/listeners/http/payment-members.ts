import Type from 'typebox'
import { paymentEffects, paymentStates } from '../../domain/payment.ts'

const sum = (description: string) => Type.Integer({ minimum: 0, description, examples: [1234] })

/** The sums and the state of a payment, on both listeners and in events. */
export const paymentSums = {
  currency: Type.String({ description: 'ISO 4217.', examples: ['EUR'] }),
  state: Type.Enum([...paymentStates], { description: 'Follows from the sums.' }),
  approved: sum('What was approved.'),
  reversed: sum('What was taken back of it.'),
  cleared: sum('What has moved from the card.'),
  refunded: sum('What has moved back.'),
  open: sum('What is still held.'),
}

/** The effect of a message on its payment. */
export const effectMember = Type.Enum(Object.keys(paymentEffects), {
  description: 'What the message did (docs/reference/payments.md).',
  examples: ['release'],
})

/** The answer to a message about a payment, on both listeners. Equal for a repeat. */
export const MessageResultSchema = Type.Object({
  responseCode: Type.String({
    description:
      '`00`: recorded, now or before. `14`: unknown card. `25`: unknown `paymentId`. `12`: the ' +
      'payment, or the card without one, has another currency. `13`: a sum would be too large. ' +
      '`94`: the id was used for another message.',
    examples: ['00'],
  }),
  publicToken: Type.Optional(Type.String({ examples: ['4820117360'] })),
  paymentId: Type.Optional(
    Type.String({ format: 'uuid', description: 'Left out while a reversal awaits its original.' }),
  ),
  messageId: Type.Optional(Type.String({ format: 'uuid' })),
  effect: Type.Optional(effectMember),
  applied: Type.Optional(
    Type.Integer({ description: 'What changed, in the smallest unit.', examples: [1234] }),
  ),
  overReversal: Type.Optional(
    Type.Integer({ description: 'What a reversal takes back beyond what is open: no effect.' }),
  ),
})
