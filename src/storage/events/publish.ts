import type { PublicToken } from '../../domain/identifiers.ts'
import { type Connection, onKey, statement } from '../engine/database.ts'

/** An event of the outbox that readers do not see yet. */
export interface UnpublishedEvent {
  readonly clientId: string
  readonly publicToken: PublicToken
  readonly sequence: number
  readonly eventId: string
  readonly type: string
  /** As the database writes it, to the microsecond. */
  readonly occurredAt: string
  readonly details: string
  readonly requestId: string | null
  readonly operatorId: string | null
  /** Whether the card's event before it is not published either. */
  readonly followsUnpublished: boolean
}

const listStatement = statement(
  'list_unplaced_events',
  `select client_id as "clientId", public_token as "publicToken", sequence, event_id as "eventId",
     type, occurred_at::text as "occurredAt", details, request_id as "requestId",
     operator_id as "operatorId",
     exists (
       select 1 from event earlier
       where earlier.public_token = event.public_token
         and earlier.sequence = event.sequence - 1 and not earlier.published
     ) as "followsUnpublished"
   from event
   where not published and occurred_at >= $2::timestamptz
     and (occurred_at, public_token, sequence) > ($2::timestamptz, $3, $4::integer)
     and client_id <> all($5::text[])
   order by occurred_at, public_token, sequence limit $1`,
)

/** Where a list of events goes on, in its order. */
interface OutboxPosition extends Pick<UnpublishedEvent, 'occurredAt' | 'sequence'> {
  readonly publicToken: PublicToken | ''
}

/** Before all events. */
export const outboxStart: OutboxPosition = { occurredAt: '-infinity', publicToken: '', sequence: 0 }

/**
 * The oldest of the events after a position that are not published, oldest first.
 * @param leftClientIds whose are left out.
 */
export const listUnpublishedEvents = (
  connection: Connection,
  { occurredAt, publicToken, sequence }: OutboxPosition,
  leftClientIds: readonly string[],
  limit: number,
): Promise<UnpublishedEvent[]> =>
  connection.query(listStatement, [limit, occurredAt, publicToken, sequence, leftClientIds])

// One statement, so one commit. The row of event_head is locked to its end: whoever else publishes events
// of this client waits, and positions show in their order. An event that is published already is left.
// After the head come the queues' rows, then the groups', as everywhere, so that none waits in a ring.
const publishStatement = statement(
  'publish_events',
  `with given as (
     select * from jsonb_to_recordset($2::jsonb) as given (
       "publicToken" text, sequence integer, "eventId" uuid, type text,
       "occurredAt" timestamptz, details text, "requestId" text, "operatorId" text,
       ordinal integer)
   ), head as (
     insert into feed_head (client_id, last_position) values ($1, $3::bigint)
     on conflict (client_id) do update
       set last_position = feed_head.last_position + excluded.last_position
     returning last_position - $3::bigint as base
   ), published as (
     insert into published_event
       (client_id, position, event_id, public_token, sequence, type, occurred_at, details, request_id,
        operator_id)
     select $1, base + ordinal, "eventId", "publicToken", sequence, type, "occurredAt", details, "requestId",
       "operatorId"
     from given cross join head
     on conflict (event_id, client_id, occurred_at) do nothing
     returning position, event_id, public_token, type
   ), target as (
     select webhook_id, position, event_id, public_token, published.type
     from published join webhook on client_id = $1 and webhook.events && array['*', published.type]
     where status = 'Enabled' and deleted_at is null
   ), delivering as (
     insert into delivery (client_id, webhook_id, position, event_id, type, group_key)
     select $1, webhook_id, position, event_id, type, public_token from target
   ), marked as (
     update delivery_queue set arrivals = arrivals + 1, due_at = least(due_at, now())
     where client_id = $1 and webhook_id in (select webhook_id from target)
     returning arrivals
   ), groups as (
     insert into delivery_group (client_id, webhook_id, group_key, pending, due_at)
     select $1, webhook_id, public_token, count(*), now() from target
     where (select count(*) from marked) >= 0
     group by webhook_id, public_token order by webhook_id, public_token
     on conflict (client_id, webhook_id, group_key) do update set
       pending = delivery_group.pending + excluded.pending,
       due_at = case when delivery_group.pending = 0 then excluded.due_at
         else delivery_group.due_at end
   )
   select count(*)::integer as count from published`,
)

/**
 * Gives events of one client, in this order, the positions after the last one, and queues them for
 * the webhooks that want them. Doing it again, or at once in two processes, publishes none twice.
 */
export const insertPublishedEvents = async (
  connection: Connection,
  clientId: string,
  events: readonly UnpublishedEvent[],
): Promise<void> => {
  const given = events.map((event, index) => ({ ...event, ordinal: index + 1 }))
  await connection.query(publishStatement, [clientId, JSON.stringify(given), events.length])
}

const markStatement = statement(
  'mark_events_published',
  `with done as materialized (
     select * from unnest($1::timestamptz[], $2::text[], $3::integer[])
       as done (occurred_at, public_token, sequence)
   )
   update event set published = true from done
   where ${onKey('event', 'done', ['occurred_at', 'public_token', 'sequence'])}`,
)

/** Marks events of the outbox as published. */
export const markPublished = async (
  connection: Connection,
  events: readonly UnpublishedEvent[],
): Promise<void> => {
  const times = events.map(({ occurredAt }) => occurredAt)
  const tokens = events.map(({ publicToken }) => publicToken)
  const sequences = events.map(({ sequence }) => sequence)
  await connection.query(markStatement, [times, tokens, sequences])
}
