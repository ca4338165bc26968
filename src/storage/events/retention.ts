import { type Connection, firstRow, onKey, statement } from '../engine/database.ts'
import type { FeedPosition } from './feed.ts'

const outboxStatement = statement(
  'prune_outbox',
  `with old as materialized (
     select public_token, sequence from event
     where published and occurred_at < (select now() - make_interval(days => $1))
     order by occurred_at limit $2
   )
   delete from event using old
   where ${onKey('event', 'old', ['public_token', 'sequence'])}
     and occurred_at + make_interval(days => $1) < now()
   returning event.sequence`,
)

/** Forgets some of the outbox's events that are published and older than so many days. @returns how many. */
export const pruneOutbox = async (
  connection: Connection,
  days: number,
  limit: number,
): Promise<number> => (await connection.query(outboxStatement, [days, limit])).length

const clientsStatement = statement(
  'list_feeds',
  `select client_id as "clientId" from feed_head where $1::text is null or client_id > $1
   order by client_id limit $2`,
)

/** Clients that have a feed, by id. */
export const listFeeds = async (
  connection: Connection,
  after: string | null,
  limit: number,
): Promise<string[]> =>
  (await connection.query<{ clientId: string }>(clientsStatement, [after, limit])).map(
    ({ clientId }) => clientId,
  )

const feedStatement = statement(
  'prune_feed',
  `with looked as materialized (
     select position, published_at from published_event
     where client_id = $1 and position > $4::bigint order by position limit $3
   ), step as materialized (
     select position from looked where published_at < now() - make_interval(days => $2)
   ), queued as materialized (
     select position, status from delivery
     where client_id = $1
       and webhook_id = any(array(select webhook_id from webhook where client_id = $1))
       and position = any(array(select position from step))
   ), gone as (
     delete from published_event
     where client_id = $1 and position > $4::bigint
       and position <= (select max(position) from step)
       and published_at + make_interval(days => $2) < now()
       and position <> all(array(select position from queued where status = 'Pending'))
   )
   select max(position)::text as "position" from step`,
)

/** How far one step of pruning a feed goes. */
interface FeedStep {
  readonly after: FeedPosition
  readonly days: number
  readonly limit: number
}

/**
 * Looks at some of a client's events after a position that are older than so many days, and forgets
 * those that are not still to be delivered.
 * @returns the position of the last old one that was looked at, or null when there was none.
 */
export const pruneFeed = async (
  connection: Connection,
  clientId: string,
  { after, days, limit }: FeedStep,
): Promise<FeedPosition | null> => {
  const values = [clientId, days, limit, after]
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
