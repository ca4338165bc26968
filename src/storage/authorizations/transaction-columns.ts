import type { Merchant } from '../../domain/merchant.ts'
import type { RecordedTransaction, Transaction } from '../../domain/transaction.ts'

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
  currencyCode: currency,
  merchant,
  networkTransactionId,
  transactionType,
}: TransactionColumns): RecordedTransaction => ({
  transactionType,
  ...(amount !== null && currency !== null && { amount, currency }),
  ...(merchant !== null && { merchant: JSON.parse(merchant) as Merchant }),
  ...(networkTransactionId !== null && { networkTransactionId }),
})
