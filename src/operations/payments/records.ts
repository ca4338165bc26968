import type { Requester } from '../../domain/client.ts'
import { isUuid, type PublicToken } from '../../domain/identifiers.ts'
import type { Merchant } from '../../domain/merchant.ts'
import {
  deriveOpenAmount,
  derivePaymentState,
  type LaterMessage,
  type PaymentEffect,
  type PaymentState,
} from '../../domain/payment.ts'
import { Problem } from '../../domain/problem.ts'
import type { TransactionType } from '../../domain/transaction.ts'
import { findLineToken } from '../../storage/cards/lines.ts'
import { findOwner } from '../../storage/cards/search.ts'
import type { Database } from '../../storage/engine/database.ts'
import * as stored from '../../storage/payments/payments.ts'

interface Records {
  readonly database: Database
}

/** A payment as its client and operators read it. */
interface RecordedPayment {
  readonly paymentId: string
  readonly publicToken: PublicToken
  readonly state: PaymentState
  readonly currency: string
  readonly approved: number
  readonly reversed: number
  readonly cleared: number
  readonly refunded: number
  /** The part of the approved amount that is still held. */
  readonly open: number
  readonly openedBy: stored.PaymentRow['openedBy']
  /** Whether an increment opened the payment, or an advice held an amount of it again. */
  readonly flagged: boolean
  readonly openedAt: string
  readonly holdExpiresAt?: string
  readonly transactionType?: TransactionType
  readonly networkTransactionId?: string
  readonly reference?: string
  readonly merchant?: Merchant
}

/** A message of a payment as they read it. */
interface RecordedMessage {
  readonly messageId: string
  readonly message: LaterMessage
  readonly effect: PaymentEffect
  readonly amount: number
  readonly applied: number
  readonly isFinal?: boolean
  readonly reference?: string
  readonly merchant?: Merchant
  readonly receivedAt: string
}

interface PaymentWithMessages extends RecordedPayment {
  readonly messages: RecordedMessage[]
}

/** The payments of all cards of the requester, newest first. */
export const listPayments = async (
  { database }: Records,
  { clientId }: Requester,
  page: stored.PaymentPage,
): Promise<RecordedPayment[]> =>
  (await stored.listClientPayments(database, clientId, page)).map(toPayment)

/**
 * The payments of the requester's card, newest first.
 * @throws `Problem` `card_not_found`.
 */
export async function listCardPayments(
  { database }: Records,
  { clientId }: Requester,
  publicToken: PublicToken,
  page: stored.PaymentPage,
): Promise<RecordedPayment[]> {
  if ((await findOwner(database, publicToken)) !== clientId) throw new Problem('card_not_found')
  return (await stored.listCardPayments(database, publicToken, page)).map(toPayment)
}

/**
 * The payments of a card of any client, newest first.
 * @throws `Problem` `card_not_found`.
 */
export async function listPaymentsOfAnyCard(
  { database }: Records,
  publicToken: PublicToken,
  page: stored.PaymentPage,
): Promise<RecordedPayment[]> {
  const rows = await stored.listCardPayments(database, publicToken, page)
  if (rows.length === 0 && (await findOwner(database, publicToken)) === null) {
    throw new Problem('card_not_found')
  }
  return rows.map(toPayment)
}

const noPayment = 'No payment has this paymentId.'

/** The most messages that are read of a payment. */
const messagesMost = 1_000

/**
 * One payment of the requester's cards, with the messages after its authorization.
 * @throws `Problem` `not_found`.
 */
export async function findPayment(
  { database }: Records,
  { clientId }: Requester,
  paymentId: string,
): Promise<PaymentWithMessages> {
  const row = isUuid(paymentId) && (await stored.findClientPayment(database, clientId, paymentId))
  if (!row) throw new Problem('not_found', { detail: noPayment })
  return addMessages(database, row)
}

/**
 * One payment of a card of any client, with the messages after its authorization. An increment of
 * the card may have raised a payment of another card of its line.
 * @throws `Problem` `not_found`.
 */
export async function findPaymentOfAnyCard(
  { database }: Records,
  publicToken: PublicToken,
  paymentId: string,
): Promise<PaymentWithMessages> {
  const row =
    isUuid(paymentId) &&
    ((await stored.findCardPayment(database, publicToken, paymentId)) ??
      (await findPaymentOfLine(database, publicToken, paymentId)))
  if (!row) throw new Problem('not_found', { detail: noPayment })
  return addMessages(database, row)
}

async function findPaymentOfLine(
  database: Database,
  publicToken: PublicToken,
  paymentId: string,
): Promise<stored.PaymentRow | null> {
  const payment = await stored.findPaymentOfAnyClient(database, paymentId)
  if (!payment) return null
  const lineToken = await findLineToken(database, publicToken)
  return lineToken === (await findLineToken(database, payment.publicToken)) ? payment : null
}

async function addMessages(
  database: Database,
  row: stored.PaymentRow,
): Promise<PaymentWithMessages> {
  const messages = await stored.listPaymentMessages(database, row, messagesMost)
  return { ...toPayment(row), messages: messages.map(toMessage) }
}

const toPayment = (row: stored.PaymentRow): RecordedPayment => ({
  paymentId: row.paymentId,
  publicToken: row.publicToken,
  state: derivePaymentState(row),
  currency: row.currencyCode,
  approved: row.approved,
  reversed: row.reversed,
  cleared: row.cleared,
  refunded: row.refunded,
  open: deriveOpenAmount(row),
  openedBy: row.openedBy,
  flagged: row.openedBy === 'increment' || row.isReopened,
  openedAt: row.openedAt.toISOString(),
  ...(row.holdExpiresAt && { holdExpiresAt: row.holdExpiresAt.toISOString() }),
  ...(row.transactionType !== null && { transactionType: row.transactionType }),
  ...(row.networkTransactionId !== null && { networkTransactionId: row.networkTransactionId }),
  ...(row.reference !== null && { reference: row.reference }),
  ...toMerchant(row.merchant),
})

const toMessage = (row: stored.PaymentMessageRow): RecordedMessage => ({
  messageId: row.messageId,
  message: row.kind,
  effect: row.effect,
  amount: row.amount,
  applied: row.applied,
  ...(row.kind === 'clearing' && { isFinal: row.isFinal }),
  ...(row.reference !== null && { reference: row.reference }),
  ...toMerchant(row.merchant),
  receivedAt: row.at,
})

const toMerchant = (text: string | null): { readonly merchant?: Merchant } =>
  text === null ? {} : { merchant: JSON.parse(text) as Merchant }
