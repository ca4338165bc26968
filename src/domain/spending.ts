/** The periods of limits. `transaction` has no window: each transaction is compared alone. */
export const periods = ['transaction', 'day', 'week', 'month', 'lifetime'] as const
export type Period = (typeof periods)[number]

export type WindowPeriod = Exclude<Period, 'transaction'>

/** The spending of a card since the first day of a window. */
interface SpendingWindow {
  /** `YYYY-MM-DD`, in the time zone of the product. */
  readonly startsOn: string
  readonly amount: number
  readonly count: number
}

/** The windows of a card by name: `day`, `day.cash`. Limits of one name share a window. */
export type SpendingWindows = Readonly<Record<string, SpendingWindow>>

/** The amount and number that a limit allows in its window. */
export interface WindowLimit {
  readonly window: string
  /** The day on which the window of the transaction starts. */
  readonly startsOn: string
  readonly maximumAmount: number | null
  readonly maximumCount: number | null
}

/** A lifetime has one window. */
const lifetimeStart = '0001-01-01'

const dayMs = 86_400_000

/** Returns the first day of the window that a day (`YYYY-MM-DD`) is in. A week starts on Monday. */
export function startWindow(period: WindowPeriod, day: string): string {
  if (period === 'lifetime') return lifetimeStart
  if (period === 'month') return `${day.slice(0, 8)}01`
  if (period === 'day') return day
  const at = Date.parse(`${day}T00:00:00Z`)
  // 1970-01-01 was a Thursday, the fourth day of its week.
  const daysSinceMonday = (Math.floor(at / dayMs) + 3) % 7
  return new Date(at - daysSinceMonday * dayMs).toISOString().slice(0, 10)
}

/** Returns the first day of the next window; null for a lifetime. */
export function startNextWindow(period: WindowPeriod, day: string): string | null {
  if (period === 'lifetime') return null
  const first = startWindow(period, day)
  // The 31st day after the first of a month is in the next month.
  const days = { day: 1, week: 7, month: 31 }[period]
  const next = new Date(Date.parse(`${first}T00:00:00Z`) + days * dayMs)
  return startWindow(period, next.toISOString().slice(0, 10))
}

/** Whether the text is the name of a time zone, such as `Europe/Paris`. */
export function isTimeZone(text: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }) !== null
  } catch {
    return false
  }
}

/** Formats of days by time zone: a new one costs more than an authorization. */
const dayFormats = new Map<string, Intl.DateTimeFormat>()

/** Returns the day of an instant in a time zone, as `YYYY-MM-DD`. */
export function findDay(at: Date, timeZone: string): string {
  if (timeZone === 'UTC') return at.toISOString().slice(0, 10)
  let format = dayFormats.get(timeZone)
  if (!format) {
    // The Swedish form of a date is that of ISO 8601.
    format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' })
    dayFormats.set(timeZone, format)
  }
  return format.format(at)
}

/** Returns the first instant of a day (`YYYY-MM-DD`) in a time zone, to the minute. */
export function findStartOfDay(day: string, timeZone: string): Date {
  const minuteMs = 60_000
  // Time zones are at most 14 hours before and 12 behind UTC.
  let before = Date.parse(`${day}T00:00:00Z`) - 15 * 60 * minuteMs
  let minutes = 30 * 60
  while (minutes > 1) {
    const half = Math.floor(minutes / 2)
    const isBefore = findDay(new Date(before + half * minuteMs), timeZone) < day
    if (isBefore) before += half * minuteMs
    minutes = isBefore ? minutes - half : half
  }
  return new Date(before + minuteMs)
}

/** The amounts that a transaction takes from its limits. An account check takes nothing. */
export interface Taking {
  /** 0 where the network gave no amount. */
  readonly amount: number
  /** 1, or 0 for an account check. */
  readonly count: 0 | 1
  /** The cash of a purchase with cash. Windows of that channel take it, and not the amount. */
  readonly cash?: number
}

/**
 * What a window takes of an amount: of a purchase with cash, the windows of that channel take the
 * cash alone, if it is known.
 */
const takeIn = (window: string, { amount, cash }: Taking): number =>
  cash !== undefined && window.endsWith('.cashback') ? Math.min(cash, amount) : amount

/**
 * Returns the window of a limit as a transaction meets it. A window never reopens: a transaction
 * with an earlier day counts into the newer window.
 */
export const openWindow = (
  windows: SpendingWindows,
  { startsOn, window }: Pick<WindowLimit, 'startsOn' | 'window'>,
): SpendingWindow => {
  const known = Object.hasOwn(windows, window) ? windows[window] : undefined
  return known && known.startsOn >= startsOn ? known : { startsOn, amount: 0, count: 0 }
}

/**
 * Returns what a transaction would exceed; null if its limit allows it. The same rule as in
 * database/functions/limits/reserve-spending.sql.
 */
export function findExcess(
  windows: SpendingWindows,
  limit: WindowLimit,
  taking: Taking,
): 'amount' | 'count' | null {
  if (taking.count === 0) return null
  const { amount, count } = openWindow(windows, limit)
  const { maximumAmount, maximumCount } = limit
  const taken = takeIn(limit.window, taking)
  if (maximumAmount !== null && amount + taken > maximumAmount) return 'amount'
  return maximumCount !== null && count + taking.count > maximumCount ? 'count' : null
}

/**
 * Finds the part of an amount that limits leave: the least that is left in a window. The same rule
 * as in database/functions/limits/find-partial-approval.sql.
 * @returns null if they allow the whole amount, leave nothing, or refuse it because of its count.
 */
export function findPart<Limit extends WindowLimit>(
  windows: SpendingWindows,
  limits: readonly Limit[],
  taking: Taking,
): { readonly amount: number; readonly limit: Limit } | null {
  const left = limits.flatMap((limit) =>
    limit.maximumAmount === null
      ? []
      : [{ limit, amount: limit.maximumAmount - openWindow(windows, limit).amount }],
  )
  const [least] = left.toSorted((one, other) => one.amount - other.amount)
  if (!least || least.amount <= 0 || least.amount >= taking.amount) return null
  const part = { ...taking, amount: least.amount }
  return limits.some((limit) => findExcess(windows, limit, part) !== null) ? null : least
}

/** Returns the windows after a transaction that its limits allow. */
export function takeFrom(
  windows: SpendingWindows,
  limits: readonly WindowLimit[],
  taking: Taking,
): SpendingWindows {
  // Several limits of one window take from it once.
  const taken = limits.map((limit) => {
    const { amount, count, startsOn } = openWindow(windows, limit)
    const taken = takeIn(limit.window, taking)
    const after = { startsOn, amount: amount + taken, count: count + taking.count }
    return [limit.window, after] as const
  })
  return { ...windows, ...Object.fromEntries(taken) }
}
