import { type Database, firstRow, statement } from './database.ts'
import type { WebhookReference } from './delivery-queues.ts'

const holdHeadStatement = statement(
  'hold_event_head',
  'select last_position from event_head where client_id = $1 for update',
)

// Locks are taken in the order of all: head, webhook, lanes, deliveries. Rows are named by arrays, so that
// each is found by the index whatever the planner takes the table for.
const replayStatement = statement(
  'replay_deliveries',
  `with asked as (
     select replay_after, events from webhook
     where client_id = $1 and webhook_id = $2 and status = 'Enabled' and replay_after is not null
     for update
   ), span as (
     select position, event_id, type, public_token from placed_event
     where client_id = $1 and position > (select replay_after from asked)
     order by position limit $3
   ), wanted as (
     select position, event_id, type, public_token from span
     where (select asked.events && array['*', span.type] from asked)
   ), held as (
     select lane from delivery_lane
     where client_id = $1 and webhook_id = $2 and lane = any(array(select public_token from wanted))
     order by lane for update
   ), old as (
     select position, status from delivery
     where client_id = $1 and webhook_id = $2 and position = any(array(select position from wanted))
       and (select count(*) from held) >= 0
     order by position for update
   ), queued as (
     insert into delivery (client_id, webhook_id, position, event_id, type, lane)
     select $1, $2, position, event_id, type, public_token from wanted
     where (select count(*) from old) >= 0
     on conflict (client_id, webhook_id, position) do update
       set status = 'Pending', failures = 0, first_tried_at = null,
         round = delivery.round + case when delivery.status = 'Failed' then 1 else 0 end
       where delivery.status <> 'Delivered'
     returning position, lane
   ), lanes as (
     insert into delivery_lane (client_id, webhook_id, lane, pending, due_at)
     select $1, $2, lane, count(*) filter (where status is distinct from 'Pending'), now()
     from queued left join old on old.position = queued.position
     group by lane order by lane
     on conflict (client_id, webhook_id, lane) do update
       set pending = delivery_lane.pending + excluded.pending, due_at = excluded.due_at
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
export const replayDeliveries = (
  database: Database,
  { clientId, webhookId }: WebhookReference,
  stretch: number,
): Promise<boolean> =>
  database.transaction(async (connection) => {
    // Events that are being placed, perhaps for a webhook that was not yet enabled, are seen or come after.
    await connection.query(holdHeadStatement, [clientId])
    const values = [clientId, webhookId, stretch]
    return (
      firstRow(await connection.query<{ hasMore: boolean }>(replayStatement, values))?.hasMore ??
      false
    )
  })
