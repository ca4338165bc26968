import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** The number of authorizations with a response code within a period. */
export interface AnswerCount {
  /** The start of the interval, in seconds since 1970. */
  readonly from: number
  /** Of the cards; empty unless the count is by client. */
  readonly clientId: string
  readonly responseCode: string
  /** The currency that the cardholder is charged in; empty if the network gave no amount. */
  readonly currencyCode: string
  readonly count: number
  /** The sum that the approvals held, in the smallest unit of the currency. */
  readonly heldAmount: number
}

const hourSeconds = 3_600
const declare = loadStatements(import.meta.url)

/** The newest minute and the newest hour with a stored count; null without one. */
interface NewestCounts {
  readonly minute: Date | null
  readonly hour: Date | null
}

const selectNewest = declare<object, NewestCounts>('find_newest_counts')

/** Returns what was counted last. */
export const findNewestCounts = async (connection: Connection): Promise<NewestCounts> =>
  firstRow(await selectNewest(connection, {})) ?? { minute: null, hour: null }

interface MinuteCount extends Omit<AnswerCount, 'from'> {
  readonly minute: Date
}

interface MinuteCountLists {
  readonly minutes: readonly Date[]
  readonly clientIds: readonly string[]
  readonly responseCodes: readonly string[]
  readonly currencyCodes: readonly string[]
  readonly counts: readonly number[]
  readonly heldAmounts: readonly number[]
}

const selectMinutes = declare<{ from: Date; minutes: number }, MinuteCount>(
  'count_authorizations_by_minute',
)
const upsertCounts = declare<MinuteCountLists>('keep_authorization_counts')

/**
 * Counts the answers of some past minutes and stores the counts. Two processes that count the same
 * minutes store the same counts.
 * @param from the first instant to count
 * @returns the newest counted minute; null without one.
 */
export const countMinutes = async (
  connection: Connection,
  from: Date,
  minutes: number,
): Promise<Date | null> => {
  const counts = await selectMinutes(connection, { from, minutes })
  if (counts.length === 0) return null
  await upsertCounts(connection, {
    minutes: counts.map(({ minute }) => minute),
    clientIds: counts.map(({ clientId }) => clientId),
    responseCodes: counts.map(({ responseCode }) => responseCode),
    currencyCodes: counts.map(({ currencyCode }) => currencyCode),
    counts: counts.map(({ count }) => count),
    heldAmounts: counts.map(({ heldAmount }) => heldAmount),
  })
  return new Date(Math.max(...counts.map(({ minute }) => minute.getTime())))
}

const insertHours = declare<{ from: Date; until: Date }>('keep_authorization_hour_counts')

/**
 * Stores the sums of the hours that are complete: those before the hour of the newest counted
 * minute.
 */
export async function countHours(connection: Connection): Promise<void> {
  const { hour, minute } = await findNewestCounts(connection)
  if (!minute) return
  const from = endHour(hour) ?? new Date(0)
  const until = new Date(minute)
  until.setUTCMinutes(0, 0, 0)
  if (from < until) await insertHours(connection, { from, until })
}

/** Returns the end of an hour. */
const endHour = (hour: Date | null): Date | null =>
  hour && new Date(hour.getTime() + 1_000 * hourSeconds)

/** What is counted: authorizations in a period, by intervals of a number of seconds. */
interface CountedPeriod {
  readonly from: Date
  readonly to: Date
  readonly bucketSeconds: number
  /** Null for the cards of all clients. */
  readonly clientId: string | null
  /** Whether each client has counts of its own. */
  readonly byClient: boolean
}

/**
 * The counted time, from `since` to before `until`, in intervals that begin with `from`.
 */
interface CountedTime extends Omit<CountedPeriod, 'to'> {
  readonly since: Date
  readonly until: Date
}

const selectHours = declare<CountedTime, AnswerCount>('sum_authorization_hour_counts')
const selectCounted = declare<CountedTime, AnswerCount>('sum_authorization_counts')
const selectUncounted = declare<CountedTime, AnswerCount>('count_authorizations')

/**
 * Counts authorizations in a period, in no order: complete hours by their sums, then complete
 * minutes by theirs, and what remains directly. An interval may have several counts.
 */
export async function countAuthorizations(
  connection: Connection,
  { bucketSeconds, byClient, clientId, from, to }: CountedPeriod,
): Promise<AnswerCount[]> {
  const newest = await findNewestCounts(connection)
  const isOfHours = bucketSeconds % hourSeconds === 0
  const within = (at: Date | null) => new Date(Math.min(Math.max(+(at ?? from), +from), +to))
  const hoursEnd = within(isOfHours ? endHour(newest.hour) : null)
  // The last interval may end within an hour.
  hoursEnd.setTime(Math.max(+from, +hoursEnd - (+hoursEnd % (1_000 * hourSeconds))))
  // The stored count of the newest minute may be incomplete.
  const minutesEnd = within(newest.minute && newest.minute > hoursEnd ? newest.minute : hoursEnd)
  const parts = [
    { select: selectHours, since: from, until: hoursEnd },
    { select: selectCounted, since: hoursEnd, until: minutesEnd },
    { select: selectUncounted, since: minutesEnd, until: to },
  ]
  const shared = { from, bucketSeconds, clientId, byClient }
  const counts = await Promise.all(
    parts.map(({ select, since, until }) =>
      since < until ? select(connection, { ...shared, since, until }) : [],
    ),
  )
  return counts.flat()
}

const deleteCounts = declare<{ days: number; limit: number }>('prune_authorization_counts')
const deleteHours = declare<{ days: number; limit: number }>('prune_authorization_hour_counts')

/**
 * Deletes some of the counts of minutes that are older than a number of days.
 * @returns their number.
 */
export const expireCounts = async (
  connection: Connection,
  days: number,
  limit: number,
): Promise<number> => (await deleteCounts(connection, { days, limit })).length

/**
 * Deletes some of the counts of hours that are older than a number of days.
 * @returns their number.
 */
export const expireHourCounts = async (
  connection: Connection,
  days: number,
  limit: number,
): Promise<number> => (await deleteHours(connection, { days, limit })).length
