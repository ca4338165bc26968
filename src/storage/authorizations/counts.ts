import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** The number of authorizations with a response code within a period. */
export interface AnswerCount {
  /** The start of the interval, in seconds since 1970. */
  readonly from: number
  readonly responseCode: string
  /** Of what the cardholder is charged; empty where the network gave no amount. */
  readonly currencyCode: string
  readonly count: number
  /** What the approvals held, in the smallest unit of the currency. */
  readonly heldAmount: number
}

const declare = loadStatements(import.meta.url)

const selectNewestMinute = declare<object, { minute: Date | null }>('find_newest_counted_minute')

/** Returns the newest counted minute, or null. */
export const findNewestMinute = async (connection: Connection): Promise<Date | null> =>
  firstRow(await selectNewestMinute(connection, {}))?.minute ?? null

interface MinuteCount extends Omit<AnswerCount, 'from'> {
  readonly minute: Date
}

interface MinuteCountLists {
  readonly minutes: readonly Date[]
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
    responseCodes: counts.map(({ responseCode }) => responseCode),
    currencyCodes: counts.map(({ currencyCode }) => currencyCode),
    counts: counts.map(({ count }) => count),
    heldAmounts: counts.map(({ heldAmount }) => heldAmount),
  })
  return new Date(Math.max(...counts.map(({ minute }) => minute.getTime())))
}

/**
 * The counted time, from `since` to before `until`, in intervals of a number of seconds that begin
 * with `from`.
 */
interface CountedTime {
  readonly from: Date
  readonly since: Date
  readonly until: Date
  readonly bucketSeconds: number
}

const selectCounted = declare<CountedTime, AnswerCount>('sum_authorization_counts')
const selectUncounted = declare<CountedTime, AnswerCount>('count_authorizations')

/** Counts authorizations in a period, by intervals of a number of seconds, in no order. */
export async function countAuthorizations(
  connection: Connection,
  from: Date,
  to: Date,
  bucketSeconds: number,
): Promise<AnswerCount[]> {
  const newest = await findNewestMinute(connection)
  // From here on, authorizations are counted directly: the stored count of the newest minute may be
  // incomplete.
  const since = newest && newest > from ? newest : from
  const until = since < to ? since : to
  const counted = await selectCounted(connection, { from, since: from, until, bucketSeconds })
  if (until === to) return counted
  const uncounted = await selectUncounted(connection, { from, since, until: to, bucketSeconds })
  return [...counted, ...uncounted]
}

const deleteCounts = declare<{ days: number; limit: number }>('prune_authorization_counts')

/**
 * Deletes some of the counts that are older than a number of days.
 * @returns their number.
 */
export const expireCounts = async (
  connection: Connection,
  days: number,
  limit: number,
): Promise<number> => (await deleteCounts(connection, { days, limit })).length
