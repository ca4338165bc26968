import type { Merchant } from './merchant.ts'
import { formatMoney, type Money } from './money.ts'

/**
 * What a transaction does. `quasiCash` buys what is as good as cash, such as casino chips. `refund`
 * returns a purchase; `credit` pays other money to the card. `funding` takes money from the card
 * for another account.
 */
export const transactionTypes = [
  'purchase',
  'cash',
  'cashback',
  'quasiCash',
  'refund',
  'funding',
  'credit',
] as const
export type TransactionType = (typeof transactionTypes)[number]

/** The transaction in an authorization request. */
export interface Transaction {
  readonly transactionType: TransactionType
  /** Of the transaction, as the merchant charges it. Null: the network gave none. */
  readonly money: Money | null
  readonly merchant: Merchant | null
  /** The network's own id, which its later messages about the transaction repeat. */
  readonly networkTransactionId: string | null
}

/** A transaction as a request in JSON describes it. */
export interface TransactionMembers extends Partial<Money> {
  readonly transactionType?: TransactionType
  readonly merchant?: Merchant
  readonly networkTransactionId?: string
}

/** A transaction as an answer in JSON describes it. */
export interface RecordedTransaction extends TransactionMembers {
  readonly transactionType: TransactionType
}

/** The transaction that a request describes by these members. */
export const toTransaction = ({
  amount,
  currency,
  merchant,
  networkTransactionId,
  transactionType = 'purchase',
}: TransactionMembers): Transaction => ({
  transactionType,
  money: amount === undefined || currency === undefined ? null : { amount, currency },
  merchant: merchant ?? null,
  networkTransactionId: networkTransactionId ?? null,
})

/** The members of a transaction that has them. */
export const recordTransaction = ({
  merchant,
  money,
  networkTransactionId,
  transactionType,
}: Transaction): RecordedTransaction => ({
  transactionType,
  ...money,
  ...(merchant && { merchant }),
  ...(networkTransactionId !== null && { networkTransactionId }),
})

/** Describes a transaction in one line, such as `12.34 EUR at NAME, MCC 5411`; empty if unknown. */
export function describeTransaction({ amount, currency, merchant }: TransactionMembers): string {
  const { categoryCode, id, name } = merchant ?? {}
  const money =
    amount === undefined || currency === undefined ? '' : formatMoney({ amount, currency })
  const place = name ?? id
  const whole = [money, place && `at ${place}`].filter(Boolean).join(' ')
  return [whole, categoryCode && `MCC ${categoryCode}`].filter(Boolean).join(', ')
}
