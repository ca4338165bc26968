import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import type { FeedPosition } from './feed.ts'

const declare = loadStatements(import.meta.url)

const deletePublished = declare<{ days: number; limit: number }, { count: number }>(
  'delete_old_outbox_events',
)

/**
 * Deletes some of the published events of the outbox that are in no slice and older than a number
 * of days.
 * @returns their number.
 */
export const expireOutbox = async (
  connection: Connection,
  days: number,
  limit: number,
): Promise<number> => firstRow(await deletePublished(connection, { days, limit }))?.count ?? 0

const selectFeeds = declare<{ after: string; limit: number }, { clientId: string }>('list_feeds')

/**
 * Lists clients with a feed, by id.
 * @param after `''` for the first page.
 */
export const listFeeds = async (
  connection: Connection,
  after: string,
  limit: number,
): Promise<string[]> =>
  (await selectFeeds(connection, { after, limit })).map(({ clientId }) => clientId)

/** The extent of one step of deleting from a feed. */
interface FeedStep {
  readonly after: FeedPosition
  readonly days: number
  /** Since 1970: events from this day on are deleted with their slices. Null: all are read. */
  readonly beforeDay: number | null
  readonly limit: number
}

type FeedStepOfClient = FeedStep & { readonly clientId: string; readonly beforeDay: number }

const deleteStep = declare<FeedStepOfClient, { position: FeedPosition | null }>(
  'delete_old_feed_events',
)

/**
 * Deletes some of a client's events after a position that are older than a number of days, are in
 * the audit log and have no open delivery. This covers events without a slice and events in a slice
 * that must stay.
 * @returns the position of the last old event that was read, or null without one.
 */
export const expireFeed = async (
  connection: Connection,
  clientId: string,
  { after, beforeDay, days, limit }: FeedStep,
): Promise<FeedPosition | null> => {
  const rows = await deleteStep(connection, {
    clientId,
    after,
    beforeDay: beforeDay ?? Number.POSITIVE_INFINITY,
    days,
    limit,
  })
  return firstRow(rows)?.position ?? null
}
