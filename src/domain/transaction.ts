import type { EntryMode } from './entry-mode.ts'
import { isMerchantKnown, type Merchant } from './merchant.ts'
import { formatMoney, type Money, toMoney } from './money.ts'

/**
 * What a transaction does. `quasiCash` buys what is as good as cash, such as casino chips. `refund`
 * returns a purchase; `credit` pays other money to the card. `funding` takes money from the card
 * for another account. `inquiry` asks for the balance.
 */
export const transactionTypes = [
  'purchase',
  'cash',
  'cashback',
  'quasiCash',
  'refund',
  'funding',
  'credit',
  'inquiry',
] as const
export type TransactionType = (typeof transactionTypes)[number]

/** The transaction in an authorization request. */
export interface Transaction {
  readonly transactionType: TransactionType
  /** Of the transaction, as the merchant charges it. Null: the network gave none. */
  readonly money: Money | null
  /** The amount that the cardholder is charged, as the network converted it; null if not sent. */
  readonly billing: Money | null
  /** The cash part of a purchase with cash; null if not sent. */
  readonly cashbackAmount: number | null
  readonly merchant: Merchant | null
  /** The network's own id, which its later messages about the transaction repeat. */
  readonly networkTransactionId: string | null
}

/** A transaction as a request in JSON describes it. */
export interface TransactionMembers extends Partial<Money> {
  readonly billingAmount?: number
  readonly billingCurrency?: string
  readonly cashbackAmount?: number
  readonly transactionType?: TransactionType
  readonly merchant?: Merchant
  readonly networkTransactionId?: string
}

/** A transaction as an answer in JSON describes it. */
export interface RecordedTransaction extends TransactionMembers {
  readonly transactionType: TransactionType
  /** The approved part of `amount`; absent unless it was approved in part. */
  readonly approvedAmount?: number
}

/** The transaction that a request describes by these members. */
export const toTransaction = ({
  amount,
  billingAmount,
  billingCurrency,
  cashbackAmount,
  currency,
  merchant,
  networkTransactionId,
  transactionType = 'purchase',
}: TransactionMembers): Transaction => ({
  transactionType,
  money: toMoney(amount, currency),
  billing: toMoney(billingAmount, billingCurrency),
  cashbackAmount: cashbackAmount ?? null,
  merchant: merchant && isMerchantKnown(merchant) ? merchant : null,
  networkTransactionId: networkTransactionId ?? null,
})

/** The members of a transaction that has them. */
export const recordTransaction = ({
  billing,
  cashbackAmount,
  merchant,
  money,
  networkTransactionId,
  transactionType,
}: Transaction): RecordedTransaction => ({
  transactionType,
  ...money,
  ...(billing && { billingAmount: billing.amount, billingCurrency: billing.currency }),
  ...(cashbackAmount !== null && { cashbackAmount }),
  ...(merchant && { merchant }),
  ...(networkTransactionId !== null && { networkTransactionId }),
})

/** Returns the amount that the cardholder is charged: the converted, or the merchant's amount. */
export const findCharge = ({ billing, money }: Transaction): Money | null => billing ?? money

/**
 * What the cardholder is charged for the cash of a purchase with cash: a converted amount has the
 * same part, rounded up. Null: it is not known.
 */
export function findCashCharge({ billing, cashbackAmount, money }: Transaction): number | null {
  if (cashbackAmount === null || !billing || !money || money.amount === 0) return cashbackAmount
  const whole = BigInt(money.amount)
  // The product can exceed what a number holds exactly.
  return Number((BigInt(cashbackAmount) * BigInt(billing.amount) + whole - 1n) / whole)
}

/**
 * Whether a part of the amount can be approved: of a purchase, never of cash. A converted amount
 * has no part that the merchant knows.
 */
export const mayApprovePart = (
  { billing, money, transactionType }: Transaction,
  entryMode: EntryMode,
): boolean =>
  transactionType === 'purchase' &&
  entryMode !== 'atm' &&
  (billing === null || (billing.amount === money?.amount && billing.currency === money.currency))

/**
 * Whether a card of this currency can be charged: what is charged is in its currency. No amount,
 * and an amount of zero, need no conversion.
 */
export function isInCurrency(transaction: Transaction, currencyCode: string): boolean {
  const charge = findCharge(transaction)
  return charge === null || charge.amount === 0 || charge.currency === currencyCode
}

/**
 * Describes a transaction in one line, such as `12.34 USD (11.20 EUR) at NAME, MCC 5411`; empty if
 * unknown.
 */
export function describeTransaction(
  { amount, billingAmount, billingCurrency, currency, merchant }: TransactionMembers,
  write: (money: Money) => string = formatMoney,
): string {
  const { categoryCode, id, name } = merchant ?? {}
  const money = toMoney(amount, currency)
  const billing = toMoney(billingAmount, billingCurrency)
  const isConverted = billing && billing.currency !== money?.currency
  const place = name ?? id
  const whole = [
    money && write(money),
    isConverted && `(${write(billing)})`,
    place && `at ${place}`,
  ]
  return [whole.filter(Boolean).join(' '), categoryCode && `MCC ${categoryCode}`]
    .filter(Boolean)
    .join(', ')
}
