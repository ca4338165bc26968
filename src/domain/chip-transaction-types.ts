import type { TransactionType } from './transaction.ts'

/**
 * Tag 9C of each transaction: the first two digits of its processing code (ISO 8583:1987, field 3),
 * the usual one first. Terminals without a code for a service send that of a purchase.
 */
export const chipTransactionTypes: Readonly<
  Record<TransactionType, readonly [string, ...string[]]>
> = {
  purchase: ['00'],
  cash: ['01', '17'],
  cashback: ['09', '00'],
  quasiCash: ['11', '18', '00'],
  refund: ['20'],
  funding: ['10', '00'],
  credit: ['26', '28', '20', '21'],
  inquiry: ['31', '30'],
}
