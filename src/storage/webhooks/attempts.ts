import { type Connection, statement } from '../engine/database.ts'
import type { FeedPosition } from '../events/feed.ts'
import { dropIdleGroups } from './delivery-groups.ts'
import type { WebhookReference } from './queues.ts'

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

/** What became of a try, and when its group is due again. */
export interface TriedDelivery {
  readonly position: FeedPosition
  readonly groupKey: string
  /** As they were when it was tried: the two show whether it was queued anew since. */
  readonly round: number
  readonly failures: number
  /** `Pending`: it is to be tried again. */
  readonly status: 'Pending' | 'Delivered' | 'Failed'
  readonly dueInSeconds: number
  readonly try: DeliveryTry
}

/** Ten times three days of tries: a delivery may be sent again for as long as it is kept. */
const triesKept = 300

// Groups are locked before their deliveries, in their order, as everybody does, so that none waits in a
// ring. A delivery that was sent again, replayed or given up since the try began keeps what it has
// now; but what arrived has arrived, unless it was asked for once more. Rows are named by arrays: so each
// is found by the index, also where the planner takes a table for empty that has filled up meanwhile.
const recordStatement = statement(
  'record_delivery_tries',
  `with result as (
     select * from jsonb_to_recordset($3::jsonb) as result (
       position bigint, "groupKey" text, round integer, failures integer, status text,
       "dueInSeconds" float8, try jsonb)
   ), locked as (
     select group_key from delivery_group
     where client_id = $1 and webhook_id = $2 and group_key = any(array(select "groupKey" from result))
     order by group_key for update
   ), found as (
     select delivery.position, delivery.status as was,
       delivery.round = result.round as "isSameRound",
       delivery.status = 'Pending' and delivery.round = result.round
         and delivery.failures = result.failures as decides
     from delivery join result on delivery.position = result.position
     where client_id = $1 and webhook_id = $2
       and delivery.position = any(array(select position from result))
       and (select count(*) from locked) >= 0
     order by delivery.position for update of delivery
   ), clock as materialized (
     select now() as at, coalesce((
       select deliveries_suspended_seconds from client where client_id = $1
     ), 0) as behind
   ), step as (
     select result.*, was, decides,
       (try ->> 'at')::timestamptz - make_interval(secs => behind) as tried_at,
       at + make_interval(secs => "dueInSeconds") as again_at,
       case when decides or (result.status = 'Delivered' and "isSameRound") then result.status
         else was end as becomes
     from result join found on found.position = result.position cross join clock
   ), tried as (
     update delivery set status = becomes,
       failures = delivery.failures
         + case when decides and becomes <> 'Delivered' then 1 else 0 end,
       first_tried_at = case when decides then coalesce(first_tried_at, tried_at)
         else first_tried_at end,
       tries = case when jsonb_array_length(tries) < $4 then tries else tries - 0 end || try
     from step
     where client_id = $1 and webhook_id = $2 and delivery.position = step.position
       and delivery.position = any(array(select position from step))
   )
   update delivery_group set
     pending = pending - case when was = 'Pending' and becomes <> 'Pending' then 1 else 0 end,
     due_at = case when decides or becomes <> was then again_at else due_at end
   from step
   where client_id = $1 and webhook_id = $2 and delivery_group.group_key = step."groupKey"
     and delivery_group.group_key = any(array(select "groupKey" from step))
   returning delivery_group.group_key as "groupKey", pending, step.position::text as "position", decides`,
)

interface RecordedTry {
  readonly groupKey: string
  readonly pending: number
  readonly position: FeedPosition
  readonly decides: boolean
}

/**
 * Puts tries on record, at most one a group.
 * @returns the deliveries of which the try decided: the others were queued anew or given up meanwhile.
 */
export async function recordTries(
  connection: Connection,
  reference: WebhookReference,
  tries: readonly TriedDelivery[],
): Promise<ReadonlySet<FeedPosition>> {
  const values = [reference.clientId, reference.webhookId, JSON.stringify(tries), triesKept]
  const recorded = await connection.query<RecordedTry>(recordStatement, values)
  await dropIdleGroups(connection, reference, recorded)
  return new Set(recorded.filter(({ decides }) => decides).map(({ position }) => position))
}
