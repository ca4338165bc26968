-- Results of delivery attempts.

-- Groups are locked before their deliveries, in order, as everywhere, so that transactions never
-- deadlock. A delivery that was sent again, replayed or given up since the attempt began keeps its
-- present status; but an event that arrived counts as delivered, unless it was requested again.
-- Rows are named by arrays, so that the index finds each, even if the planner believes a table to
-- be empty that has grown meanwhile.
-- name: record_delivery_tries
with result as (
  select *
  from jsonb_to_recordset(:tries::jsonb) as result (
    position bigint, "groupKey" text, round integer, failures integer, status text,
    "dueInSeconds" float8, try jsonb
  )
), locked as (
  select group_key
  from delivery_group
  where client_id = :clientId and webhook_id = :webhookId
    and group_key = any(array(select "groupKey" from result))
  order by group_key
  for update
), found as (
  select delivery.position, delivery.status as was,
    delivery.round = result.round as "isSameRound",
    delivery.status = 'Pending' and delivery.round = result.round
      and delivery.failures = result.failures as decides
  from delivery
  join result on delivery.position = result.position
  where client_id = :clientId and webhook_id = :webhookId
    and delivery.position = any(array(select position from result))
    and (select count(*) from locked) >= 0
  order by delivery.position
  for update of delivery
), clock as materialized (
  select now() as at, coalesce((
      select deliveries_suspended_seconds from client where client_id = :clientId
    ), 0) as behind
), step as (
  select result.*, was, decides,
    (try ->> 'at')::timestamptz - make_interval(secs => behind) as tried_at,
    at + make_interval(secs => "dueInSeconds") as again_at,
    case
      when decides or (result.status = 'Delivered' and "isSameRound") then result.status
      else was
    end as becomes
  from result
  join found on found.position = result.position
  cross join clock
), tried as (
  update delivery
  set status = becomes,
    failures = delivery.failures
      + case when decides and becomes <> 'Delivered' then 1 else 0 end,
    first_tried_at = case
      when decides then coalesce(first_tried_at, tried_at)
      else first_tried_at
    end,
    tries = case when jsonb_array_length(tries) < :triesMax then tries else tries - 0 end || try
  from step
  where client_id = :clientId and webhook_id = :webhookId and delivery.position = step.position
    and delivery.position = any(array(select position from step))
)
update delivery_group
set pending = pending - case when was = 'Pending' and becomes <> 'Pending' then 1 else 0 end,
  due_at = case when decides or becomes <> was then again_at else due_at end
from step
where client_id = :clientId and webhook_id = :webhookId
  and delivery_group.group_key = step."groupKey"
  and delivery_group.group_key = any(array(select "groupKey" from step))
returning delivery_group.group_key as "groupKey", pending, step.position::text as "position",
  decides;
