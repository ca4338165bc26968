import type { PublicToken } from '../../domain/identifiers.ts'
import type { LaterMessage, PaymentEffect } from '../../domain/payment.ts'
import type { TransactionType } from '../../domain/transaction.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** A stored payment, with what its authorization says of it. */
export interface PaymentRow {
  readonly publicToken: PublicToken
  readonly paymentId: string
  readonly clientId: string
  readonly openedBy: 'authorization' | 'increment' | 'advice' | 'clearing' | 'refund'
  readonly currencyCode: string
  readonly approved: number
  readonly reversed: number
  readonly cleared: number
  readonly refunded: number
  readonly isFinal: boolean
  readonly isExpired: boolean
  readonly isReopened: boolean
  readonly networkTransactionId: string | null
  readonly holdExpiresAt: Date | null
  readonly openedAt: Date
  /** Null if no authorization opened it, or the authorization was deleted. */
  readonly transactionType: TransactionType | null
  readonly reference: string | null
  /** JSON. */
  readonly merchant: string | null
}

/** A stored message of a payment after its authorization. */
export interface PaymentMessageRow {
  readonly messageId: string
  readonly kind: LaterMessage
  readonly effect: PaymentEffect
  readonly amount: number
  readonly applied: number
  readonly currencyCode: string | null
  readonly isFinal: boolean
  readonly reference: string | null
  /** JSON. */
  readonly merchant: string | null
  /** RFC 3339 in UTC, to the microsecond. */
  readonly at: string
}

/** An id that is greater than every other one. */
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** The position before a page of payments, and its length: at most 101. */
export interface PaymentPage {
  /** Null for the first page. */
  readonly before: string | null
  readonly limit: number
}

const declare = loadStatements(import.meta.url)

const selectByCard = declare<
  { publicToken: PublicToken; before: string; limit: number },
  PaymentRow
>('list_payments_of_card')

/** Lists the payments of a card, newest first. */
export const listCardPayments = (
  connection: Connection,
  publicToken: PublicToken,
  { before, limit }: PaymentPage,
): Promise<PaymentRow[]> =>
  selectByCard(connection, { publicToken, before: before ?? lastId, limit })

const selectByClient = declare<{ clientId: string; before: string; limit: number }, PaymentRow>(
  'list_payments_of_client',
)

/** Lists the payments of all cards of a client, newest first. */
export const listClientPayments = (
  connection: Connection,
  clientId: string,
  { before, limit }: PaymentPage,
): Promise<PaymentRow[]> =>
  selectByClient(connection, { clientId, before: before ?? lastId, limit })

const selectOne = declare<{ clientId: string; paymentId: string }, PaymentRow>(
  'find_payment_of_client',
)

/** Returns one payment of a client's card, or null. */
export const findClientPayment = async (
  connection: Connection,
  clientId: string,
  paymentId: string,
): Promise<PaymentRow | null> => firstRow(await selectOne(connection, { clientId, paymentId }))

const selectOfCard = declare<{ publicToken: PublicToken; paymentId: string }, PaymentRow>(
  'find_payment_of_card',
)

/** Returns one payment of a card, or null. */
export const findCardPayment = async (
  connection: Connection,
  publicToken: PublicToken,
  paymentId: string,
): Promise<PaymentRow | null> =>
  firstRow(await selectOfCard(connection, { publicToken, paymentId }))

const selectOfAnyClient = declare<{ paymentId: string }, PaymentRow>('find_payment_of_any_client')

/** Returns one payment of a card of any client, or null. */
export const findPaymentOfAnyClient = async (
  connection: Connection,
  paymentId: string,
): Promise<PaymentRow | null> => firstRow(await selectOfAnyClient(connection, { paymentId }))

/** The last payment of the previous page of a search. */
export type PaymentPosition = Pick<PaymentRow, 'publicToken' | 'paymentId'>

interface NetworkTransaction {
  readonly networkTransactionId: string
  readonly publicToken: string
  readonly paymentId: string
  readonly limit: number
}

const selectByNetworkTransaction = declare<NetworkTransaction, PaymentRow>(
  'search_payments_by_network_transaction',
)

const firstPosition = { publicToken: '', paymentId: '00000000-0000-0000-0000-000000000000' }

/** Lists the payments of all cards with an id of a network, by card. */
export const searchPayments = (
  connection: Connection,
  networkTransactionId: string,
  { after, limit }: { readonly after: PaymentPosition | null; readonly limit: number },
): Promise<PaymentRow[]> =>
  selectByNetworkTransaction(connection, {
    networkTransactionId,
    limit,
    publicToken: (after ?? firstPosition).publicToken,
    paymentId: (after ?? firstPosition).paymentId,
  })

const selectMessages = declare<
  { publicToken: PublicToken; paymentId: string; limit: number },
  PaymentMessageRow
>('list_messages_of_payment')

/** Lists the first messages of a payment after its authorization, in their order. */
export const listPaymentMessages = (
  connection: Connection,
  { paymentId, publicToken }: Pick<PaymentRow, 'paymentId' | 'publicToken'>,
  limit: number,
): Promise<PaymentMessageRow[]> => selectMessages(connection, { publicToken, paymentId, limit })

const deletePayments = declare<{ days: number; limit: number }, { count: number }>(
  'delete_old_payments',
)

/**
 * Deletes some of the payments that are over and older than a number of days, with their messages.
 * @returns their number.
 */
export const expirePayments = async (
  connection: Connection,
  days: number,
  limit: number,
): Promise<number> => firstRow(await deletePayments(connection, { days, limit }))?.count ?? 0
