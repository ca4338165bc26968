import type { PaymentEffect } from '../../domain/payment.ts'
import type { MessageResult } from './messages.ts'

/** The answer to a message about a payment. Equal for a repeat. */
export interface MessageAnswer {
  readonly responseCode: string
  readonly publicToken?: string
  readonly paymentId?: string
  readonly messageId?: string
  readonly effect?: PaymentEffect
  readonly applied?: number
  readonly overReversal?: number
}

const responseCodes = {
  recorded: '00',
  repeated: '00',
  unknown_card: '14',
  unknown_payment: '25',
  wrong_currency: '12',
  too_large: '13',
  reused: '94',
} as const satisfies Record<MessageResult['outcome'], string>

/** Composes the answer to a message. */
export function toMessageAnswer(result: MessageResult): MessageAnswer {
  const responseCode = responseCodes[result.outcome]
  if (!('effect' in result)) return { responseCode }
  const { amount, applied, effect, kind, messageId, paymentId, publicToken } = result
  const over = kind === 'reversal' && effect !== 'remember' ? amount - applied : 0
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
