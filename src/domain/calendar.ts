/**
 * Whether the text is `YYYY-MM-DD` and such a day exists in the Gregorian calendar, which has no
 * year 0.
 */
export function isCalendarDate(text: string): boolean {
  const [, year, month, day] = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(text) ?? []
  if (!(Number(year) >= 1 && Number(day) >= 1)) return false
  return Number(day) <= daysInMonth(Number(year), Number(month))
}

/** The last year in which a card can be created: later ones would expire after the year 9999. */
export const lastClockYear = 9_899

/** Whether the text is an instant in UTC as RFC 3339 writes it, its year within four digits. */
export const isInstant = (text: string): boolean =>
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?Z$/.test(
    text,
  ) && isCalendarDate(text.slice(0, 10))

/** Whether the text is a real date before `today`; both `YYYY-MM-DD`. */
export const isPastDate = (text: string, today: string): boolean =>
  isCalendarDate(text) && text < today

/** The maximum age of a person. An earlier date of birth is a typing error. */
const ageMostYears = 150

/** Whether a person who is alive `today` can have this date of birth; both `YYYY-MM-DD`. */
export function isWithinLifetime(date: string, today: string): boolean {
  const earliestYear = Math.max(0, Number(today.slice(0, 4)) - ageMostYears)
  const earliest = `${String(earliestYear).padStart(4, '0')}${today.slice(4)}`
  return date >= earliest
}

/** Formats the UTC day of an instant as `YYYY-MM-DD`. */
export const formatDate = (at: Date): string => at.toISOString().slice(0, 10)

/** Returns the day a number of days after another one, or before it; both `YYYY-MM-DD`. */
export function addDays(date: string, days: number): string {
  const at = new Date(`${date}T00:00:00Z`)
  at.setUTCDate(at.getUTCDate() + days)
  return formatDate(at)
}

/** Returns the number of days of a month (1 to 12); 0 for a month that does not exist. */
export function daysInMonth(year: number, month: number): number {
  const isLeapYear = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return month === 2 && isLeapYear ? 29 : (monthLengths[month - 1] ?? 0)
}

const monthLengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** The last month in which a card is valid, through its last day in UTC. */
export interface Expiry {
  readonly year: number
  /** 1 to 12. */
  readonly month: number
  /** Four digits, year first, as on the stripe and in CVV (ISO/IEC 7813). */
  yymm(): string
  /** Four digits, month first, as printed on the card. */
  mmyy(): string
  /** `YYYY-MM`. */
  yearMonth(): string
  /** The last day of the month, `YYYY-MM-DD`: `expiryDate` on the wire. */
  lastDay(): string
  /** The first instant at which the card is expired: 00:00 UTC after its last day. */
  endsAt(): Date
  /** Whether the card is expired at an instant. */
  isPast(at: Date): boolean
}

/**
 * Makes an expiry from a year (0 to 9999) and a month (1 to 12).
 * @throws RangeError for other numbers.
 */
export function makeExpiry(year: number, month: number): Expiry {
  const fits = Number.isInteger(year) && year >= 0 && year <= 9999 && daysInMonth(year, month) > 0
  if (!fits) throw new RangeError('not a month')
  return Object.freeze({ year, month, ...methods })
}

/** Parses an expiry `YYYY-MM`; returns null for other texts. */
export function parseExpiry(text: string): Expiry | null {
  const [, year, month] = /^([0-9]{4})-(0[1-9]|1[0-2])$/.exec(text) ?? []
  return year && month ? makeExpiry(Number(year), Number(month)) : null
}

/**
 * Returns the expiry with the month of a date `YYYY-MM-DD`.
 * @throws RangeError if the text is no date.
 */
export const toExpiry = (date: string): Expiry =>
  makeExpiry(Number(date.slice(0, 4)), Number(date.slice(5, 7)))

/** Returns the expiry of a card that starts on `date` (`YYYY-MM-DD`) and is valid for `months`. */
export function expiryMonthsAfter(date: string, months: number): Expiry {
  const start = toExpiry(date)
  const count = start.year * 12 + (start.month - 1) + months
  return makeExpiry(Math.floor(count / 12), (count % 12) + 1)
}

/**
 * Returns why a card created `today` (`YYYY-MM-DD`) cannot have this expiry, or null. Its last day
 * must be in the future, and its month within the product's validity.
 */
export function expiryFault(expiry: Expiry, today: string, validityMonths: number): string | null {
  if (expiry.lastDay() <= today) return 'must be in the future'
  const latest = expiryMonthsAfter(today, validityMonths).yearMonth()
  if (expiry.yearMonth() > latest) return `must not be after ${latest}, the product's validity`
  return null
}

const methods = {
  yymm(this: Expiry): string {
    return twoDigits(this.year) + twoDigits(this.month)
  },
  mmyy(this: Expiry): string {
    return twoDigits(this.month) + twoDigits(this.year)
  },
  yearMonth(this: Expiry): string {
    return `${String(this.year).padStart(4, '0')}-${twoDigits(this.month)}`
  },
  lastDay(this: Expiry): string {
    return `${this.yearMonth()}-${daysInMonth(this.year, this.month)}`
  },
  endsAt(this: Expiry): Date {
    const end = new Date(`${this.lastDay()}T00:00:00Z`)
    end.setUTCDate(end.getUTCDate() + 1)
    return end
  },
  isPast(this: Expiry, at: Date): boolean {
    return at.getTime() >= this.endsAt().getTime()
  },
}

const twoDigits = (number: number): string => String(number % 100).padStart(2, '0')
