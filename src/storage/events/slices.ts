import { type Connection, type Database, firstRow, lockTimeoutMs } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import { listFeeds } from './retention.ts'

/** The tables that are divided into slices by the time of the act. */
export const slicedTables = ['event', 'published_event'] as const
export type SlicedTable = (typeof slicedTables)[number]

/** A slice of a table, in days since 1970 (UTC). */
export interface Slice {
  readonly table: SlicedTable
  readonly fromDay: number
  /** The day after its last one. */
  readonly untilDay: number
}

const declare = loadStatements(import.meta.url)

const selectDay = declare<object, { day: number }>('find_database_day')

/** Returns the day, since 1970 (UTC), by the clock that dates the rows. */
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

/** Lists the slices of a table, oldest first. */
export const listSlices = async (connection: Connection, table: SlicedTable): Promise<Slice[]> =>
  (await selectSlices(connection, { table, boundsPattern })).map((bounds) => ({ table, ...bounds }))

/**
 * The maximum wait for a change of slices. It locks the whole table for a moment, once no other
 * transaction uses it, and later ones wait behind it. If that takes longer, the change is left for
 * the next time. A cluster locks it on every node.
 */
const waitMsOn = (database: Database): number => (database.isCluster() ? lockTimeoutMs : 250)

type SliceChange = Slice & { readonly waitMs: number }

const make = declare<SliceChange, { isThere: boolean }>('make_slice')

/**
 * Makes a slice, unless it exists.
 * @returns false if the default partition already has rows of its time.
 */
export const makeSlice = async (
  database: Database,
  { fromDay, table, untilDay }: Slice,
): Promise<boolean> => {
  const waitMs = waitMsOn(database)
  return firstRow(await make(database, { table, fromDay, untilDay, waitMs }))?.isThere ?? false
}

const drop = declare<SliceChange, { isDropped: boolean }>('drop_slice')

/**
 * Deletes an expired slice, unless an event of its days is unpublished.
 * @returns whether it was deleted.
 */
export const deleteSlice = async (
  database: Database,
  { fromDay, table, untilDay }: Slice,
): Promise<boolean> => {
  const waitMs = waitMsOn(database)
  return firstRow(await drop(database, { table, fromDay, untilDay, waitMs }))?.isDropped ?? false
}

const selectUnpublished = declare<SliceBounds>('has_unpublished_events')

type FeedSlice = SliceBounds & { readonly clientId: string; readonly days: number }

const selectKept = declare<FeedSlice>('is_feed_slice_kept')

/** The number of clients that are listed at once. */
const clientsEach = 500

/**
 * Deletes a slice of the feeds, unless an event in it was published within a number of days, is not
 * yet published or entered in the audit log, or has a delivery.
 * @returns whether it was deleted.
 */
export async function deleteFeedSlice(
  database: Database,
  slice: Slice,
  days: number,
): Promise<boolean> {
  const { fromDay, untilDay } = slice
  // Late events are visible to the checks below; from here on, none of this time is published.
  if ((await selectUnpublished(database, { fromDay, untilDay })).length > 0) return false
  for (let after = ''; ; ) {
    const clients = await listFeeds(database, after, clientsEach)
    // One client at a time: its rows are on one node, found by the client.
    for (const clientId of clients) {
      const kept = await selectKept(database, { clientId, fromDay, untilDay, days })
      if (kept.length > 0) return false
    }
    const last = clients.at(-1)
    if (!last || clients.length < clientsEach) break
    after = last
  }
  return deleteSlice(database, slice)
}
