import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import type { FeedPosition } from './feed.ts'

const declare = loadStatements(import.meta.url)

const deletePublished = declare<{ days: number; limit: number }, { count: number }>(
  'delete_old_outbox_events',
)

/**
 * Forgets some of the outbox's events that no slice has, are published and older than so many days.
 * @returns how many.
 */
export const expireOutbox = async (
  connection: Connection,
  days: number,
  limit: number,
): Promise<number> => firstRow(await deletePublished(connection, { days, limit }))?.count ?? 0

const selectFeeds = declare<{ after: string; limit: number }, { clientId: string }>('list_feeds')

/** Clients that have a feed, by id. @param after `''` stands before all. */
export const listFeeds = async (
  connection: Connection,
  after: string,
  limit: number,
): Promise<string[]> =>
  (await selectFeeds(connection, { after, limit })).map(({ clientId }) => clientId)

/** How far one step of pruning a feed goes. */
interface FeedStep {
  readonly after: FeedPosition
  readonly days: number
  /** Since 1970: events from then on go with their slices. Null: all are looked at. */
  readonly beforeDay: number | null
  readonly limit: number
}

type FeedStepOfClient = FeedStep & { readonly clientId: string; readonly beforeDay: number }

const deleteStep = declare<FeedStepOfClient, { position: FeedPosition | null }>(
  'delete_old_feed_events',
)

/**
 * Deletes some of a client's events after a position that are older than so many days, are in the
 * audit log and have no open delivery. This covers events without a slice and events in a slice
 * that must stay.
 * @returns the position of the last old event that was read, or null when there was none.
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

const deleteEndedStreams = declare('prune_event_streams')

/** Forgets slots of streams that ended without saying so. */
export const expireStreams = async (connection: Connection): Promise<void> => {
  await deleteEndedStreams(connection, {})
}
