import { type Connection, firstRow, onKey, statement } from '../engine/database.ts'
import type { FeedPosition } from './feed.ts'

const outboxStatement = statement(
  'prune_outbox',
  `with old as materialized (
     select occurred_at, public_token, sequence from event_default
     where published and occurred_at < (select now() - make_interval(days => $1))
     order by occurred_at limit $2
   )
   delete from event_default using old
   where ${onKey('event_default', 'old', ['occurred_at', 'public_token', 'sequence'])}
     and now() - event_default.occurred_at > make_interval(days => $1)
   returning event_default.sequence`,
)

/** Forgets some of the outbox's events that no slice has, are published and older than so many days. @returns how many. */
export const pruneOutbox = async (
  connection: Connection,
  days: number,
  limit: number,
): Promise<number> => (await connection.query(outboxStatement, [days, limit])).length

const clientsStatement = statement(
  'list_feeds',
  `select client_id as "clientId" from feed_head where client_id > $1
   order by client_id limit $2`,
)

/** Clients that have a feed, by id. @param after `''` stands before all. */
export const listFeeds = async (
  connection: Connection,
  after: string,
  limit: number,
): Promise<string[]> =>
  (await connection.query<{ clientId: string }>(clientsStatement, [after, limit])).map(
    ({ clientId }) => clientId,
  )

/** How far a client's feed is entered in the audit log: what comes after that is kept, however old it is. */
export const enteredPosition = `coalesce((select position from audit_feed where client_id = $1), 0)`

const feedStatement = statement(
  'prune_feed',
  `with looked as materialized (
     select position, published_at, occurred_at from published_event
     where client_id = $1 and position > $4::bigint and position <= ${enteredPosition}
     order by position limit $3
   ), step as materialized (
     select position from looked
     where published_at < now() - make_interval(days => $2) and occurred_at < to_timestamp($5::float8 * 86400)
   ), queued as materialized (
     select position, status from delivery
     where client_id = $1
       and webhook_id = any(array(select webhook_id from webhook where client_id = $1))
       and position = any(array(select position from step))
   ), gone as (
     delete from published_event
     where client_id = $1 and position > $4::bigint
       and position <= (select max(position) from step)
       and now() - published_at > make_interval(days => $2)
       and occurred_at < to_timestamp($5::float8 * 86400)
       and position <> all(array(select position from queued where status = 'Pending'))
   )
   select max(position)::text as "position" from step`,
)

/** How far one step of pruning a feed goes. */
interface FeedStep {
  readonly after: FeedPosition
  readonly days: number
  /** Since 1970: events from then on go with their slices. Null: all are looked at. */
  readonly beforeDay: number | null
  readonly limit: number
}

/**
 * Looks at some of a client's events after a position that are older than so many days, and forgets
 * those that are entered in the audit log and not still to be delivered. So goes what has no slice, or one that something else keeps.
 * @returns the position of the last old one that was looked at, or null when there was none.
 */
export const pruneFeed = async (
  connection: Connection,
  clientId: string,
  { after, beforeDay, days, limit }: FeedStep,
): Promise<FeedPosition | null> => {
  const values = [clientId, days, limit, after, beforeDay ?? 'Infinity']
  const rows = await connection.query<{ position: FeedPosition | null }>(feedStatement, values)
  return firstRow(rows)?.position ?? null
}

const streamsStatement = statement(
  'prune_event_streams',
  `delete from event_stream where leased_until < now() - interval '1 hour'`,
)

/** Forgets slots of streams that ended without saying so. */
export const pruneStreams = async (connection: Connection): Promise<void> => {
  await connection.query(streamsStatement)
}
