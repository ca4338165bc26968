import type { Merchant } from '../../domain/merchant.ts'
import { toMoney } from '../../domain/money.ts'
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
  readonly billingAmount: number | null
  readonly billingCurrencyCode: string | null
  readonly cashbackAmount: number | null
  /** JSON. */
  readonly merchant: string | null
  readonly networkTransactionId: string | null
}

/** The same after the answer. */
export interface RecordedTransactionColumns extends TransactionColumns {
  /** Null unless a part of the amount was approved. */
  readonly approvedAmount: number | null
}

export const toColumns = ({
  billing,
  cashbackAmount,
  merchant,
  money,
  networkTransactionId,
  transactionType,
}: Transaction): TransactionColumns => ({
  transactionType,
  amount: money?.amount ?? null,
  currencyCode: money?.currency ?? null,
  billingAmount: billing?.amount ?? null,
  billingCurrencyCode: billing?.currency ?? null,
  cashbackAmount,
  merchant: merchant && JSON.stringify(merchant),
  networkTransactionId,
})

/** The members of a recorded transaction: those that it has. */
export const toTransactionMembers = ({
  amount,
  approvedAmount,
  billingAmount,
  billingCurrencyCode,
  cashbackAmount,
  currencyCode,
  merchant,
  networkTransactionId,
  transactionType,
}: RecordedTransactionColumns): RecordedTransaction => ({
  ...recordTransaction({
    transactionType,
    money: toMoney(amount, currencyCode),
    billing: toMoney(billingAmount, billingCurrencyCode),
    cashbackAmount,
    merchant: merchant === null ? null : (JSON.parse(merchant) as Merchant),
    networkTransactionId,
  }),
  ...(approvedAmount !== null && { approvedAmount }),
})
