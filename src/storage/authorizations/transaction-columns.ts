import type { Merchant } from '../../domain/merchant.ts'
import {
  type RecordedTransaction,
  recordTransaction,
  type Transaction,
} from '../../domain/transaction.ts'

/** A transaction as the row of its authorization has it. */
export interface TransactionColumns {
  readonly transactionType: Transaction['transactionType']
  readonly amount: number | null
  readonly currencyCode: string | null
  /** JSON. */
  readonly merchant: string | null
  readonly networkTransactionId: string | null
}

export const toColumns = ({
  merchant,
  money,
  networkTransactionId,
  transactionType,
}: Transaction): TransactionColumns => ({
  transactionType,
  amount: money?.amount ?? null,
  currencyCode: money?.currency ?? null,
  merchant: merchant && JSON.stringify(merchant),
  networkTransactionId,
})

/** The members of a recorded transaction: those that it has. */
export const toTransactionMembers = ({
  amount,
  currencyCode,
  merchant,
  networkTransactionId,
  transactionType,
}: TransactionColumns): RecordedTransaction =>
  recordTransaction({
    transactionType,
    money: amount === null || currencyCode === null ? null : { amount, currency: currencyCode },
    merchant: merchant === null ? null : (JSON.parse(merchant) as Merchant),
    networkTransactionId,
  })
