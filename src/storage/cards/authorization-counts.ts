import { type Connection, firstRow, onKey, statement } from '../engine/database.ts'

/** How many authorizations were answered so, within a stretch of time. */
export interface AnswerCount {
  /** When the stretch begins, in seconds since 1970. */
  readonly from: number
  readonly responseCode: string
  readonly count: number
}

/** Whoever decides has committed by then: no statement waits for longer for a lock. */
const commitSeconds = 10

const newestStatement = statement(
  'find_newest_counted_minute',
  'select max(minute) as "minute" from authorization_count',
)

/** The newest minute that is counted, or null. */
export const findNewestMinute = async (connection: Connection): Promise<Date | null> =>
  firstRow(await connection.query<{ minute: Date | null }>(newestStatement))?.minute ?? null

// Where nothing was asked for long, it goes on with what was asked next.
const minutesStatement = statement(
  'count_authorizations_by_minute',
  `with next as materialized (
     select date_trunc('minute', decided_at, 'UTC') as minute from authorization_record
     where decided_at >= $1::timestamptz order by decided_at limit 1
   )
   select date_trunc('minute', decided_at, 'UTC') as "minute", response_code as "responseCode",
     count(*)::float8 as "count"
   from authorization_record
   where decided_at >= (select minute from next)
     and decided_at < (select minute from next) + make_interval(mins => $2)
     and decided_at < date_trunc('minute', now() - interval '${commitSeconds} seconds', 'UTC')
   group by 1, 2`,
)
const keepStatement = statement(
  'keep_authorization_counts',
  `insert into authorization_count (minute, response_code, count)
   select minute, response_code, count
   from unnest($1::timestamptz[], $2::text[], $3::bigint[]) as counted (minute, response_code, count)
   order by minute, response_code
   on conflict (minute, response_code) do update set count = excluded.count`,
)

interface MinuteCount {
  readonly minute: Date
  readonly responseCode: string
  readonly count: number
}

/**
 * Counts the answers of some minutes that are over, and keeps the counts. Two that count the same at once keep the same.
 * @param from the first instant that is looked at
 * @returns the newest minute that was counted; null where there was none.
 */
export const countMinutes = async (
  connection: Connection,
  from: Date,
  minutes: number,
): Promise<Date | null> => {
  const counts = await connection.query<MinuteCount>(minutesStatement, [from, minutes])
  if (counts.length === 0) return null
  await connection.query(keepStatement, [
    counts.map(({ minute }) => minute),
    counts.map(({ responseCode }) => responseCode),
    counts.map(({ count }) => count),
  ])
  return new Date(Math.max(...counts.map(({ minute }) => minute.getTime())))
}

// Stretches begin with `$1`, and are whole minutes long.
const sumText = (columns: string, count: string, from: string): string =>
  `select (extract(epoch from $1::timestamptz) + bucket * $3::integer)::float8 as "from",
     response_code as "responseCode", ${count}::float8 as "count"
   from (
     select floor(extract(epoch from ${columns} - $1::timestamptz) / $3::integer)::integer as bucket,
       response_code, ${from} where ${columns} >= $4::timestamptz and ${columns} < $2::timestamptz
   ) as counted
   group by bucket, response_code order by bucket, response_code`

const countedStatement = statement(
  'sum_authorization_counts',
  sumText('minute', 'sum(count)', 'count from authorization_count'),
)
const uncountedStatement = statement(
  'count_authorizations',
  sumText('decided_at', 'count(*)', '1 as one from authorization_record'),
)

/** Counts authorizations from an instant to before another, in stretches of so many seconds: in no order. */
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
  const counted = await connection.query<AnswerCount>(countedStatement, [
    ...[from, until, bucketSeconds, from],
  ])
  if (until === to) return counted
  const values = [from, to, bucketSeconds, since]
  return [...counted, ...(await connection.query<AnswerCount>(uncountedStatement, values))]
}

const pruneStatement = statement(
  'prune_authorization_counts',
  `with old as materialized (
     select minute, response_code from authorization_count
     where minute < (select now() - make_interval(days => $1)) order by minute limit $2
   )
   delete from authorization_count using old
   where ${onKey('authorization_count', 'old', ['minute', 'response_code'])}
     and now() - authorization_count.minute > make_interval(days => $1)
   returning authorization_count.minute`,
)

/** Forgets some of the counts that are older than so many days. @returns how many. */
export const pruneCounts = async (
  connection: Connection,
  days: number,
  limit: number,
): Promise<number> => (await connection.query(pruneStatement, [days, limit])).length
