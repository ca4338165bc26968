import { type Connection, type Database, firstRow, statement } from '../engine/database.ts'
import type { FeedPosition } from '../events/feed.ts'
import type { DeliveryTry } from './attempts.ts'
import { pingGroup } from './delivery-groups.ts'
import type { WebhookReference } from './queues.ts'

type DeliveryStatus = 'Pending' | 'Delivered' | 'Failed'

/** One event for one endpoint. */
export interface DeliveryRow {
  readonly position: FeedPosition
  readonly eventId: string
  readonly type: string
  readonly status: DeliveryStatus
  readonly createdAt: Date
  /** When its group is due, while it is pending. */
  readonly nextTryAt: Date | null
  readonly tries: readonly DeliveryTry[]
}

// The group is looked for row by row, so that no plan reads them all.
const listStatement = statement(
  'list_deliveries',
  `select page.position::text as "position", page.event_id as "eventId", page.type, page.status,
     page.created_at as "createdAt", case when page.status = 'Pending' then due_at end as "nextTryAt",
     page.tries
   from (
     select group_key, position, event_id, type, status, created_at, tries
     from delivery where client_id = $1 and webhook_id = $2 and position < $3::bigint
     order by position desc limit $4
   ) as page left join lateral (
     select due_at from delivery_group
     where client_id = $1 and webhook_id = $2 and delivery_group.group_key = page.group_key limit 1
   ) as due on true
   order by page.position desc`,
)

const afterAll = '9223372036854775807'

/** An endpoint's deliveries before a position, newest first. */
export const findDeliveries = (
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  before: FeedPosition | null,
  limit: number,
): Promise<DeliveryRow[]> =>
  connection.query(listStatement, [clientId, webhookId, before ?? afterAll, limit])

// The queue's row is locked first, then the group's, then the delivery's.
const resendStatement = statement(
  'resend_delivery',
  `with found as (
     select group_key from delivery
     where client_id = $1 and webhook_id = $2 and position = $3::bigint and exists (
       select 1 from published_event
       where published_event.client_id = $1 and published_event.position = $3::bigint
     )
   ), marked as (
     update delivery_queue set arrivals = arrivals + 1, due_at = now()
     where client_id = $1 and webhook_id = $2 and exists (select 1 from found)
     returning arrivals
   ), locked as (
     select group_key from delivery_group
     where client_id = $1 and webhook_id = $2 and group_key = (select group_key from found)
       and (select count(*) from marked) >= 0
     for update
   ), old as (
     select status as was from delivery
     where client_id = $1 and webhook_id = $2 and position = $3::bigint
       and exists (select 1 from found) and (select count(*) from locked) >= 0
     for update
   ), again as (
     update delivery set status = 'Pending', failures = 0, first_tried_at = null,
       round = round + 1
     from old where client_id = $1 and webhook_id = $2 and position = $3::bigint
     returning event_id, group_key, was
   ), groups as (
     insert into delivery_group (client_id, webhook_id, group_key, pending, due_at)
     select $1, $2, group_key, case when was = 'Pending' then 0 else 1 end, now() from again
     on conflict (client_id, webhook_id, group_key) do update
       set pending = delivery_group.pending + excluded.pending, due_at = excluded.due_at
   )
   select event_id as "eventId" from again`,
)

/**
 * Queues a delivery again, whatever became of it.
 * @returns its event's id, or null if there is none, or its event is not kept.
 */
export const queueDelivery = async (
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  position: FeedPosition,
): Promise<string | null> => {
  const values = [clientId, webhookId, position]
  return (
    firstRow(await connection.query<{ eventId: string }>(resendStatement, values))?.eventId ?? null
  )
}

const pingStatement = statement(
  'ping_webhook',
  `with head as (
     insert into feed_head (client_id, last_position)
     select client_id, 1 from webhook
     where client_id = $1 and webhook_id = $2 and deleted_at is null
     on conflict (client_id) do update set last_position = feed_head.last_position + 1
     returning last_position
   ), marked as (
     update delivery_queue set arrivals = arrivals + 1, due_at = now()
     where client_id = $1 and webhook_id = $2 and exists (select 1 from head)
     returning arrivals
   ), groups as (
     insert into delivery_group (client_id, webhook_id, group_key, pending, due_at)
     select $1, $2, $4, 1, now() from head where (select count(*) from marked) >= 0
     on conflict (client_id, webhook_id, group_key) do update
       set pending = delivery_group.pending + 1,
         due_at = least(delivery_group.due_at, excluded.due_at)
   )
   insert into delivery (client_id, webhook_id, position, event_id, type, group_key)
   select $1, $2, last_position, $3, 'webhook.ping', $4 from head
   returning group_key`,
)

/** Queues a ping. @returns whether there is such a webhook. */
export const queuePing = async (
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  eventId: string,
): Promise<boolean> =>
  (await connection.query(pingStatement, [clientId, webhookId, eventId, pingGroup])).length === 1

const lockHeadStatement = statement(
  'lock_feed_head',
  'select last_position from feed_head where client_id = $1 for update',
)

// Locks are taken in the order of all: head, webhook, groups, deliveries. Rows are named by arrays, so that
// each is found by the index whatever the planner takes the table for.
const replayStatement = statement(
  'replay_deliveries',
  `with asked as (
     select replay_after, events from webhook
     where client_id = $1 and webhook_id = $2 and status = 'Enabled' and replay_after is not null
     for update
   ), span as (
     select position, event_id, type, public_token from published_event
     where client_id = $1 and position > (select replay_after from asked)
     order by position limit $3
   ), wanted as (
     select position, event_id, type, public_token from span
     where (select asked.events && array['*', span.type] from asked)
   ), locked as (
     select group_key from delivery_group
     where client_id = $1 and webhook_id = $2 and group_key = any(array(select public_token from wanted))
     order by group_key for update
   ), old as (
     select position, status from delivery
     where client_id = $1 and webhook_id = $2 and position = any(array(select position from wanted))
       and (select count(*) from locked) >= 0
     order by position for update
   ), queued as (
     insert into delivery (client_id, webhook_id, position, event_id, type, group_key)
     select $1, $2, position, event_id, type, public_token from wanted
     where (select count(*) from old) >= 0
     on conflict (client_id, webhook_id, position) do update
       set status = 'Pending', failures = 0, first_tried_at = null,
         round = delivery.round + case when delivery.status = 'Failed' then 1 else 0 end
       where delivery.status <> 'Delivered'
     returning position, group_key
   ), groups as (
     insert into delivery_group (client_id, webhook_id, group_key, pending, due_at)
     select $1, $2, group_key, count(*) filter (where status is distinct from 'Pending'), now()
     from queued left join old on old.position = queued.position
     group by group_key order by group_key
     on conflict (client_id, webhook_id, group_key) do update
       set pending = delivery_group.pending + excluded.pending, due_at = excluded.due_at
   )
   update webhook set replay_after = case when (select count(*) from span) = $3
     then (select max(position) from span) end
   where client_id = $1 and webhook_id = $2
     and replay_after = (select replay_after from asked)
   returning replay_after is not null as "hasMore"`,
)

/**
 * Queues the next stretch of what a client asked to have replayed: all of it that was not delivered,
 * each with all its time before it, and what waits to be tried again at once.
 * @returns whether there is more.
 */
export const queueUndelivered = (
  database: Database,
  { clientId, webhookId }: WebhookReference,
  stretch: number,
): Promise<boolean> =>
  database.transaction(async (connection) => {
    // Events that are being published, perhaps for a webhook that was not yet enabled, are seen or come after.
    await connection.query(lockHeadStatement, [clientId])
    const values = [clientId, webhookId, stretch]
    return (
      firstRow(await connection.query<{ hasMore: boolean }>(replayStatement, values))?.hasMore ??
      false
    )
  })
