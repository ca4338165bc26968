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

/** What a message did to its payment. */
export const effectMember = Type.Enum(Object.keys(paymentEffects), {
  description: 'What the message did (docs/reference/payments.md).',
  examples: ['release'],
})
