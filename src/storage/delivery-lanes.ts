import { type Connection, statement } from './database.ts'
import type { WebhookReference } from './delivery-queues.ts'
import type { FeedPosition } from './event-feed.ts'

/** The lane of pings, which belong to no card. */
export const pingLane = 'ping'

/** The next event that an endpoint is to get on a lane. */
export interface DueDelivery {
  readonly lane: string
  readonly position: FeedPosition
  readonly eventId: string
  readonly type: string
  /** Tries that failed, since it was queued or sent again. */
  readonly failures: number
  readonly firstTriedAt: Date | null
  readonly createdAt: Date
  /** Null for a ping, which is in no feed; and so are the two after it. */
  readonly sequence: number | null
  readonly occurredAt: Date | null
  readonly details: string | null
}

const listStatement = statement(
  'list_due_deliveries',
  `select due.lane, next.position::text as "position", next.event_id as "eventId", next.type,
     next.failures, next.first_tried_at as "firstTriedAt", next.created_at as "createdAt",
     sequence, occurred_at as "occurredAt", details
   from (
     select lane from delivery_lane
     where client_id = $1 and webhook_id = $2 and pending > 0 and due_at <= now()
       and lane <> all($3::text[])
     order by due_at limit $4
   ) as due
   cross join lateral (
     select position, event_id, type, failures, first_tried_at, created_at from delivery
     where client_id = $1 and webhook_id = $2 and delivery.lane = due.lane and status = 'Pending'
     order by position limit 1
   ) as next
   left join placed_event
     on placed_event.client_id = $1 and placed_event.position = next.position`,
)

/** The first pending delivery of each of some lanes that are due, but for those that are busy. */
export const listDueDeliveries = (
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  busyLanes: readonly string[],
  limit: number,
): Promise<DueDelivery[]> =>
  connection.query(listStatement, [clientId, webhookId, busyLanes, limit])

/** One try of a delivery, as it stays on record. */
export interface DeliveryTry {
  readonly at: string
  readonly durationMs: number
  /** `delivered`, or in a word why not. */
  readonly outcome: string
  readonly statusCode?: number
  /** The first bytes of a text or JSON answer. */
  readonly response?: string
}

/** What became of a try, and when its lane is due again. */
export interface TriedDelivery {
  readonly position: FeedPosition
  readonly lane: string
  /** `Pending`: it is to be tried again. */
  readonly status: 'Pending' | 'Delivered' | 'Failed'
  readonly dueInSeconds: number
  readonly try: DeliveryTry
}

// Lanes are locked in their order, as they are by whoever places events, so that none waits in a ring.
const recordStatement = statement(
  'record_delivery_tries',
  `with result as (
     select * from jsonb_to_recordset($3::jsonb) as result (
       position bigint, lane text, status text, "dueInSeconds" float8, try jsonb)
   ), held as (
     select lane from delivery_lane
     where client_id = $1 and webhook_id = $2 and lane in (select lane from result)
     order by lane for update
   ), tried as (
     update delivery set status = result.status,
       failures = failures + case when result.status = 'Delivered' then 0 else 1 end,
       first_tried_at = coalesce(first_tried_at, (try ->> 'at')::timestamptz),
       tries = case when jsonb_array_length(tries) < 30 then tries else tries - 0 end || try
     from result
     where client_id = $1 and webhook_id = $2 and delivery.position = result.position
       and delivery.status = 'Pending'
     returning delivery.lane, result.status, result."dueInSeconds"
   )
   update delivery_lane set
     pending = pending - case when tried.status = 'Pending' then 0 else 1 end,
     due_at = now() + make_interval(secs => tried."dueInSeconds")
   from tried join held on held.lane = tried.lane
   where client_id = $1 and webhook_id = $2 and delivery_lane.lane = tried.lane
   returning delivery_lane.lane, pending`,
)

const dropIdleStatement = statement(
  'drop_idle_delivery_lanes',
  `delete from delivery_lane
   where client_id = $1 and webhook_id = $2 and lane = any($3) and pending = 0`,
)

/** Puts tries on record, at most one a lane. One that was settled meanwhile is left as it is. */
export async function recordTries(
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  tries: readonly TriedDelivery[],
): Promise<void> {
  const values = [clientId, webhookId, JSON.stringify(tries)]
  const lanes = await connection.query<{ lane: string; pending: number }>(recordStatement, values)
  const idle = lanes.filter(({ pending }) => pending === 0).map(({ lane }) => lane)
  if (idle.length > 0) await connection.query(dropIdleStatement, [clientId, webhookId, idle])
}

const failStatement = statement(
  'fail_pending_deliveries',
  `with failed as (
     update delivery set status = 'Failed'
     where client_id = $1 and webhook_id = $2 and status = 'Pending' and position in (
       select position from delivery
       where client_id = $1 and webhook_id = $2 and status = 'Pending'
         and lane is distinct from $3 limit $4
     )
     returning lane
   )
   update delivery_lane set pending = pending - done.count
   from (select lane, count(*)::integer as count from failed group by lane) as done
   where client_id = $1 and webhook_id = $2 and delivery_lane.lane = done.lane
   returning delivery_lane.lane, pending`,
)

/** Gives up some of what is pending for an endpoint. @param keptLane is left. @returns whether any was. */
export async function failPending(
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  keptLane: string | null,
  limit: number,
): Promise<boolean> {
  const values = [clientId, webhookId, keptLane, limit]
  const lanes = await connection.query<{ lane: string; pending: number }>(failStatement, values)
  const idle = lanes.filter(({ pending }) => pending === 0).map(({ lane }) => lane)
  await connection.query(dropIdleStatement, [clientId, webhookId, idle])
  return lanes.length > 0
}
