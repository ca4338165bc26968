import type { PublicToken } from '../../domain/identifiers.ts'
import type { Merchant } from '../../domain/merchant.ts'
import type { Money } from '../../domain/money.ts'
import type { PaymentEffect } from '../../domain/payment.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** The kinds of messages of a network, besides authorizations and their increments. */
export type NetworkMessageKind = 'reversal' | 'advice' | 'clearing' | 'refund'

/** A message of a network about a payment. */
export interface PaymentMessage {
  readonly publicToken: PublicToken
  readonly networkId: string
  readonly requestId: string
  /** A version 7 UUID. */
  readonly messageId: string
  readonly kind: NetworkMessageKind
  /** The network's own key of the message: a repeat has the same. */
  readonly messageKey: string
  /** Whether advices, clearings and refunds have one list of keys; false if absent. */
  readonly isKeyShared?: boolean
  /** Null: the payment is named by the network's transaction id, or is unknown. */
  readonly paymentId: string | null
  readonly networkTransactionId: string | null
  /** Null: a reversal of everything that is open. */
  readonly money: Money | null
  /** Whether the amount of a reversal is what remains. */
  readonly isRemaining: boolean
  /** Whether no clearing follows. */
  readonly isFinal: boolean
  /** When a hold that the message opens expires, and the expiry that the network itself gives. */
  readonly holdExpiresAt: Date
  readonly networkExpiresAt: Date | null
  /** By the clock of the service. */
  readonly now: Date
  readonly merchant: Merchant | null
  readonly reference: string | null
}

/** The recorded effect of a message under its key. */
export interface RecordedMessage {
  readonly outcome: 'recorded' | 'repeated'
  /** The card of the payment: the message may have named its successor. */
  readonly publicToken: PublicToken
  readonly messageId: string
  /** Null for a reversal that waits for its original. */
  readonly paymentId: string | null
  readonly effect: PaymentEffect
  /** The amount that the network stated: of a reversal, the amount to take back. */
  readonly amount: number
  /** What changed. A reversal takes back no more than is open. */
  readonly applied: number
}

/** Why nothing was done (database/functions/payments/record-payment-message.sql). */
export interface RefusedMessage {
  readonly outcome: 'reused' | 'unknown_card' | 'unknown_payment' | 'wrong_currency' | 'too_large'
}

const declare = loadStatements(import.meta.url)

type MessageValues = Omit<PaymentMessage, 'money' | 'merchant' | 'isKeyShared'> & {
  readonly isKeyShared: boolean
  readonly amount: number | null
  readonly currencyCode: string | null
  /** JSON. */
  readonly merchant: string | null
}

type MessageRow = { readonly outcome: (RecordedMessage | RefusedMessage)['outcome'] } & {
  readonly [Member in keyof Omit<RecordedMessage, 'outcome'>]: RecordedMessage[Member] | null
}

const record = declare<MessageValues, MessageRow>('record_payment_message')

/** Records a message about a payment with its effect and its event, once. */
export async function recordPaymentMessage(
  connection: Pick<Connection, 'query'>,
  { isKeyShared = false, merchant, money, ...message }: PaymentMessage,
): Promise<RecordedMessage | RefusedMessage> {
  const row = firstRow(
    await record(connection, {
      ...message,
      isKeyShared,
      amount: money?.amount ?? null,
      currencyCode: money?.currency ?? null,
      merchant: merchant && JSON.stringify(merchant),
    }),
  )
  if (!row) throw new Error('A message about a payment was not recorded.')
  const { amount, applied, effect, messageId, outcome, paymentId, publicToken } = row
  if (outcome !== 'recorded' && outcome !== 'repeated') return { outcome }
  if (messageId === null || effect === null || amount === null || applied === null) {
    throw new Error('A message about a payment was recorded without an effect.')
  }
  if (publicToken === null) throw new Error('A message about a payment was recorded on no card.')
  return { outcome, publicToken, messageId, paymentId, effect, amount, applied }
}

/** A payment whose hold may have expired. */
export interface DueHold {
  readonly publicToken: PublicToken
  readonly paymentId: string
}

const selectDue = declare<{ now: Date; limit: number }, DueHold>('list_due_holds')

/** Lists some of the payments whose hold expires by an instant. */
export const listDueHolds = (
  connection: Connection,
  now: Date,
  limit: number,
): Promise<DueHold[]> => selectDue(connection, { now, limit })

const expire = declare<DueHold & { messageId: string; now: Date }, { isExpired: boolean }>(
  'expire_payment',
)

/**
 * Expires the hold of a payment, with its event.
 * @returns whether the hold expired now. Another process or a message may have come first.
 */
export const expirePayment = async (
  connection: Connection,
  hold: DueHold,
  messageId: string,
  now: Date,
): Promise<boolean> =>
  firstRow(await expire(connection, { ...hold, messageId, now }))?.isExpired ?? false
