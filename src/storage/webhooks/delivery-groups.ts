import { type Connection, statement } from '../engine/database.ts'
import type { FeedPosition } from '../events/feed.ts'
import type { WebhookReference } from './queues.ts'

/** The group of pings, which belong to no card. */
export const pingGroup = 'ping'

/** The next event that an endpoint is to get on a group. */
export interface DueDelivery {
  readonly groupKey: string
  readonly position: FeedPosition
  readonly eventId: string
  readonly type: string
  /** Raised whenever it is queued anew. */
  readonly round: number
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
  `select due.group_key as "groupKey", next.position::text as "position", next.event_id as "eventId", next.type,
     next.round, next.failures, next.first_tried_at as "firstTriedAt", next.created_at as "createdAt",
     sequence, occurred_at as "occurredAt", details
   from (
     select group_key from delivery_group
     where client_id = $1 and webhook_id = $2 and pending > 0 and due_at <= now()
       and group_key <> all($3::text[])
     order by due_at limit $4
   ) as due
   cross join lateral (
     select position, event_id, type, round, failures, first_tried_at, created_at from delivery
     where client_id = $1 and webhook_id = $2 and status = 'Pending'
       and delivery.group_key >= due.group_key and delivery.group_key <= due.group_key
     order by delivery.group_key, position limit 1
   ) as next
   left join lateral (
     select sequence, occurred_at, details from published_event
     where published_event.client_id = $1 and published_event.position = next.position limit 1
   ) as published on true`,
)

/** The first pending delivery of each of some groups that are due, but for those that are busy. */
export const listDueDeliveries = (
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  busyGroups: readonly string[],
  limit: number,
): Promise<DueDelivery[]> =>
  connection.query(listStatement, [clientId, webhookId, busyGroups, limit])

const dropIdleStatement = statement(
  'drop_idle_delivery_groups',
  `delete from delivery_group
   where client_id = $1 and webhook_id = $2 and group_key = any($3) and pending = 0`,
)

/** Forgets those of some groups that have nothing pending, and still have not. */
export async function dropIdleGroups(
  connection: Connection,
  { clientId, webhookId }: WebhookReference,
  groups: readonly { readonly groupKey: string; readonly pending: number }[],
): Promise<void> {
  const idle = groups.filter(({ pending }) => pending === 0).map(({ groupKey }) => groupKey)
  if (idle.length > 0) await connection.query(dropIdleStatement, [clientId, webhookId, idle])
}

const failStatement = statement(
  'fail_pending_deliveries',
  `with found as (
     select position, group_key from delivery
     where client_id = $1 and webhook_id = $2 and status = 'Pending'
       and group_key is distinct from $3
     order by group_key, position limit $4
   ), locked as (
     select group_key from delivery_group
     where client_id = $1 and webhook_id = $2 and group_key = any(array(select group_key from found))
     order by group_key for update
   ), failed as (
     update delivery set status = 'Failed'
     where client_id = $1 and webhook_id = $2 and status = 'Pending'
       and position = any(array(select position from found))
       and (select count(*) from locked) >= 0
     returning group_key
   )
   update delivery_group set pending = pending - done.count
   from (select group_key, count(*)::integer as count from failed group by group_key) as done
   where client_id = $1 and webhook_id = $2 and delivery_group.group_key = done.group_key
     and delivery_group.group_key = any(array(select group_key from failed))
   returning delivery_group.group_key as "groupKey", pending`,
)

/** Gives up some of what is pending for an endpoint. @param keptGroup is left. @returns whether any was. */
export async function failPending(
  connection: Connection,
  reference: WebhookReference,
  keptGroup: string | null,
  limit: number,
): Promise<boolean> {
  const values = [reference.clientId, reference.webhookId, keptGroup, limit]
  const groups = await connection.query<{ groupKey: string; pending: number }>(
    failStatement,
    values,
  )
  await dropIdleGroups(connection, reference, groups)
  return groups.length > 0
}
