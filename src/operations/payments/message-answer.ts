import Type, { type Static } from 'typebox'
import { paymentEffects } from '../../domain/payment.ts'
import type { MessageResult } from './messages.ts'

/** The answer to a message about a payment. Equal for a repeat. */
export const MessageResultSchema = Type.Object({
  responseCode: Type.String({
    description:
      '`00`: recorded, now or before. `14`: unknown card. `25`: unknown `paymentId`. `12`: the ' +
      'payment has another currency. `94`: the id was used for another message.',
    examples: ['00'],
  }),
  publicToken: Type.Optional(Type.String({ examples: ['4820117360'] })),
  paymentId: Type.Optional(
    Type.String({ format: 'uuid', description: 'Left out while a reversal awaits its original.' }),
  ),
  messageId: Type.Optional(Type.String({ format: 'uuid' })),
  effect: Type.Optional(
    Type.Enum(Object.keys(paymentEffects), {
      description: 'What the message did (docs/reference/payments.md).',
      examples: ['release'],
    }),
  ),
  applied: Type.Optional(
    Type.Integer({ description: 'What changed, in the smallest unit.', examples: [1234] }),
  ),
  overReversal: Type.Optional(
    Type.Integer({ description: 'What a reversal takes back beyond what is open: no effect.' }),
  ),
})

export type MessageAnswer = Static<typeof MessageResultSchema>

const responseCodes = {
  recorded: '00',
  repeated: '00',
  unknown_card: '14',
  unknown_payment: '25',
  wrong_currency: '12',
  reused: '94',
} as const satisfies Record<MessageResult['outcome'], string>

/** Composes the answer to a message. */
export function toMessageAnswer(result: MessageResult): MessageAnswer {
  const responseCode = responseCodes[result.outcome]
  if (!('effect' in result)) return { responseCode }
  const { amount, applied, effect, messageId, paymentId, publicToken } = result
  const over = effect === 'release' || effect === 'record' ? amount - applied : 0
  return {
    responseCode,
    publicToken,
    ...(paymentId !== null && { paymentId }),
    messageId,
    effect,
    applied,
    ...(over > 0 && { overReversal: over }),
  }
}
