import { formatMoney, type Money } from '../domain/money.ts'

/** Writes an amount for people, with its thousands apart, such as `1,234.50 EUR`. */
export const writeMoney = (money: Money): string =>
  formatMoney(money).replace(/^\d+/, (whole) => whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ','))

const counts = new Intl.NumberFormat('en')

/** Writes a count for people, such as `12,345`. */
export const writeCount = (count: number): string => counts.format(count)
