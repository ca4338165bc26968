/** Whether the text is `YYYY-MM-DD` and such a day exists in the Gregorian calendar, which has no year 0. */
export function isCalendarDate(text: string): boolean {
  const [, year, month, day] = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(text) ?? []
  if (!(Number(year) >= 1 && Number(day) >= 1)) return false
  return Number(day) <= daysInMonth(Number(year), Number(month))
}

/** A card made in this year expires before the year 10000, which no date here can name. */
export const lastClockYear = 9_899

/** Whether the text is an instant in UTC as RFC 3339 writes it, its year within four digits. */
export const isInstant = (text: string): boolean =>
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?Z$/.test(
    text,
  ) && isCalendarDate(text.slice(0, 10))

/** Whether the text is a real date before `today`; both `YYYY-MM-DD`. */
export const isPastDate = (text: string, today: string): boolean =>
  isCalendarDate(text) && text < today

/** The day that an instant lies in, in UTC, as `YYYY-MM-DD`. */
export const dateOf = (at: Date): string => at.toISOString().slice(0, 10)

/** How many days a month (1 to 12) has; 0 for a month that does not exist. */
export const daysInMonth = (year: number, month: number): number =>
  month === 2 && isLeapYear(year) ? 29 : (monthLengths[month - 1] ?? 0)

const monthLengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

const isLeapYear = (year: number): boolean =>
  year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
