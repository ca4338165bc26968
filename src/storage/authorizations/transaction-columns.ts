import type { Merchant } from '../../domain/merchant.ts'
import type { Money } from '../../domain/money.ts'
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
  /** JSON. */
  readonly merchant: string | null
  readonly networkTransactionId: string | null
}

export const toColumns = ({
  billing,
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
  merchant: merchant && JSON.stringify(merchant),
  networkTransactionId,
})

/** The members of a recorded transaction: those that it has. */
export const toTransactionMembers = ({
  amount,
  billingAmount,
  billingCurrencyCode,
  currencyCode,
  merchant,
  networkTransactionId,
  transactionType,
}: TransactionColumns): RecordedTransaction =>
  recordTransaction({
    transactionType,
    money: toMoney(amount, currencyCode),
    billing: toMoney(billingAmount, billingCurrencyCode),
    merchant: merchant === null ? null : (JSON.parse(merchant) as Merchant),
    networkTransactionId,
  })

const toMoney = (amount: number | null, currency: string | null): Money | null =>
  amount === null || currency === null ? null : { amount, currency }
