import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** The number of authorizations with a response code within a period. */
export interface AnswerCount {
  /** When the stretch begins, in seconds since 1970. */
  readonly from: number
  readonly responseCode: string
  readonly count: number
}

const declare = loadStatements(import.meta.url)

const selectNewestMinute = declare<object, { minute: Date | null }>('find_newest_counted_minute')

/** Returns the newest minute that is counted, or null. */
export const findNewestMinute = async (connection: Connection): Promise<Date | null> =>
  firstRow(await selectNewestMinute(connection, {}))?.minute ?? null

interface MinuteCount {
  readonly minute: Date
  readonly responseCode: string
  readonly count: number
}

interface MinuteCountLists {
  readonly minutes: readonly Date[]
  readonly responseCodes: readonly string[]
  readonly counts: readonly number[]
}

const selectMinutes = declare<{ from: Date; minutes: number }, MinuteCount>(
  'count_authorizations_by_minute',
)
const upsertCounts = declare<MinuteCountLists>('keep_authorization_counts')

/**
 * Counts the answers of some past minutes and stores the counts. Two processes that count the same
 * minutes store the same counts.
 * @param from the first instant to count
 * @returns the newest minute that was counted; null when there was none.
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
    counts: counts.map(({ count }) => count),
  })
  return new Date(Math.max(...counts.map(({ minute }) => minute.getTime())))
}

/**
 * What is counted, from `since` to before `until`, in stretches of so many seconds that begin with
 * `from`.
 */
interface CountedTime {
  readonly from: Date
  readonly since: Date
  readonly until: Date
  readonly bucketSeconds: number
}

const selectCounted = declare<CountedTime, AnswerCount>('sum_authorization_counts')
const selectUncounted = declare<CountedTime, AnswerCount>('count_authorizations')

/**
 * Counts authorizations from an instant to before another, in stretches of so many seconds: in no
 * order.
 */
export async function countAuthorizations(
  connection: Connection,
  from: Date,
  to: Date,
  bucketSeconds: number,
): Promise<AnswerCount[]> {
  const newest = await findNewestMinute(connection)
  // From then on each is counted here: the newest minute may not be whole.
  const since = newest && newest > from ? newest : from
  const until = since < to ? since : to
  const counted = await selectCounted(connection, { from, since: from, until, bucketSeconds })
  if (until === to) return counted
  const uncounted = await selectUncounted(connection, { from, since, until: to, bucketSeconds })
  return [...counted, ...uncounted]
}

const deleteCounts = declare<{ days: number; limit: number }>('prune_authorization_counts')

/** Deletes some of the counts that are older than so many days. @returns how many. */
export const expireCounts = async (
  connection: Connection,
  days: number,
  limit: number,
): Promise<number> => (await deleteCounts(connection, { days, limit })).length
