import {
  type Connection,
  type Database,
  firstRow,
  lockTimeoutMs,
  type Statement,
  statement,
} from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import { listFeeds } from './retention.ts'

/** The tables whose rows lie in slices, by when their act took place. */
export const slicedTables = ['event', 'published_event'] as const
export type SlicedTable = (typeof slicedTables)[number]

/** A slice of a table, in days since 1970 (UTC). */
export interface Slice {
  readonly table: SlicedTable
  readonly fromDay: number
  /** The day after its last one. */
  readonly untilDay: number
}

const daySeconds = 86_400

/** The slice's own table. */
const nameOf = ({ fromDay, table }: Slice): string =>
  `${table}_${dateOfDay(fromDay).slice(0, 10).replaceAll('-', '')}`

const dateOfDay = (day: number): string => new Date(day * daySeconds * 1_000).toISOString()

const declare = loadStatements(import.meta.url)

const selectDay = declare<object, { day: number }>('find_database_day')

/** The day, since 1970 (UTC), by the clock that rows are dated by. */
export async function findDatabaseDay(connection: Connection): Promise<number> {
  const row = firstRow(await selectDay(connection, {}))
  if (!row) throw new Error('The database has no clock.')
  return row.day
}

const boundsPattern = `FROM \\('([^']+)'\\) TO \\('([^']+)'\\)`

type SliceBounds = Pick<Slice, 'fromDay' | 'untilDay'>

const selectSlices = declare<{ table: SlicedTable; boundsPattern: string }, SliceBounds>(
  'list_slices',
)

/** The slices of a table, the oldest first. */
export const listSlices = async (connection: Connection, table: SlicedTable): Promise<Slice[]> =>
  (await selectSlices(connection, { table, boundsPattern })).map((bounds) => ({ table, ...bounds }))

/**
 * How long others may wait for a change of slices. It takes the whole table, for a moment, once nobody uses it: who
 * comes meanwhile waits behind it. Where that takes longer it is left for the next time. A cluster takes it on every node.
 */
const waitShortly = (database: Database): string =>
  `set local lock_timeout = ${database.isCluster() ? lockTimeoutMs : 250}`

/**
 * Makes a slice, unless it is there.
 * @returns whether it could be: rows of its time may be kept already where those lie that have no slice.
 */
export async function makeSlice(database: Database, slice: Slice): Promise<boolean> {
  const { fromDay, table, untilDay } = slice
  try {
    await database.transaction((connection) =>
      // Locked first, so that of two processes the second finds it there.
      connection.script(`${waitShortly(database)}; lock table ${table} in access exclusive mode;
        create table if not exists ${nameOf(slice)} partition of ${table}
        for values from ('${dateOfDay(fromDay)}') to ('${dateOfDay(untilDay)}')`),
    )
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === checkViolation) return false
    throw error
  }
}

const checkViolation = '23514'

/** Removes a slice with all that is in it. */
const dropSlice = (connection: Connection, slice: Slice): Promise<void> =>
  connection.script(`drop table ${nameOf(slice)}`)

const selectUnpublished = declare<{ from: string; until: string }>('has_unpublished_events')

/** Whether an event of the slice's time is still to be published. */
const hasUnpublished = async (
  connection: Connection,
  { fromDay, untilDay }: Slice,
): Promise<boolean> => {
  const span = { from: dateOfDay(fromDay), until: dateOfDay(untilDay) }
  return (await selectUnpublished(connection, span)).length > 0
}

/** Removes a slice of the outbox, unless something in it is still to be published. @returns whether it did. */
export const forgetOutboxSlice = (database: Database, slice: Slice): Promise<boolean> =>
  database.transaction(async (connection) => {
    // Nobody writes to it from here on.
    await connection.script(
      `${waitShortly(database)}; lock table ${slice.table} in access exclusive mode`,
    )
    if (await hasUnpublished(connection, slice)) return false
    await dropSlice(connection, slice)
    return true
  })

// Of a client's events in the slice the last was published last. Settled deliveries are forgotten before, and so
// whatever delivery there is of them keeps the slice.
const keptStatement = (slice: Slice): Statement =>
  statement(
    `keeps_${nameOf(slice)}`,
    `with first as materialized (
       select position from ${nameOf(slice)} where client_id = $1 order by position limit 1
     ), last as materialized (
       select position, published_at from ${nameOf(slice)} where client_id = $1
       order by position desc limit 1
     )
     select 1 as one from first cross join last
     where last.published_at > now() - make_interval(days => $2)
       or last.position > coalesce((select position from audit_feed where client_id = $1), 0)
       or exists (
       select 1 from webhook cross join lateral (
         select 1 as one from delivery
         where delivery.client_id = $1 and delivery.webhook_id = webhook.webhook_id
           and delivery.position between first.position and last.position
         limit 1
       ) as needed
       where webhook.client_id = $1
     )`,
  )

/** Clients that are listed at once. */
const clientsEach = 500

/**
 * Removes a slice of the feeds, unless an event in it was published within so many days, is still to be published or
 * entered in the audit log, or has a delivery. @returns whether it did.
 */
export async function forgetFeedSlice(
  database: Database,
  slice: Slice,
  days: number,
): Promise<boolean> {
  // Whatever was published late is seen below; from here on nothing of this time is.
  if (await hasUnpublished(database, slice)) return false
  const kept = keptStatement(slice)
  for (let after = ''; ; ) {
    const clients = await listFeeds(database, after, clientsEach)
    // One by one: what one client has lies together, and is found by it.
    for (const clientId of clients) {
      if ((await database.query(kept, [clientId, days])).length > 0) return false
    }
    const last = clients.at(-1)
    if (!last || clients.length < clientsEach) break
    after = last
  }
  await database.transaction(async (connection) => {
    await connection.script(waitShortly(database))
    await dropSlice(connection, slice)
  })
  return true
}
