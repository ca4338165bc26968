import { findCurrency } from './currencies.ts'

/** An amount of money. */
export interface Money {
  /** A whole number of the currency's smallest unit, from 0 to `AMOUNT_MAX`. */
  readonly amount: number
  /** ISO 4217, alphabetic code. */
  readonly currency: string
}

/** The money of two values that are both present or both absent. */
export const toMoney = (
  amount: number | null | undefined,
  currency: string | null | undefined,
): Money | null => (amount == null || currency == null ? null : { amount, currency })

/**
 * The largest amount: twelve digits, as in ISO 8583, field 4. Sums of thousands of them are still
 * exact in a JavaScript number.
 */
export const AMOUNT_MAX = 999_999_999_999

/**
 * Reads a decimal amount such as `12.34`, which has at most as many decimal digits as the currency.
 * @returns null where the text is no such amount, or the currency is unknown.
 */
export function parseMoney(text: string, currencyCode: string): Money | null {
  const currency = findCurrency(currencyCode)
  const [, whole = '', fraction = ''] = /^([0-9]{1,12})(?:\.([0-9]+))?$/.exec(text) ?? []
  if (!currency || whole === '' || fraction.length > currency.exponent) return null
  const amount = Number(whole + fraction.padEnd(currency.exponent, '0'))
  return amount > AMOUNT_MAX ? null : { amount, currency: currency.code }
}

/** Formats an amount with its currency, such as `12.34 EUR`. */
export function formatMoney({ amount, currency }: Money): string {
  const exponent = findCurrency(currency)?.exponent ?? 0
  const digits = String(amount).padStart(exponent + 1, '0')
  const whole = digits.slice(0, digits.length - exponent)
  return `${whole}${exponent > 0 ? `.${digits.slice(-exponent)}` : ''} ${currency}`
}
