-- Groups of deliveries: the events of one card for one endpoint, which are sent in their order.

-- name: list_due_deliveries
select due.group_key as "groupKey", next.position::text as "position",
  next.event_id as "eventId", next.type, next.round, next.failures,
  next.first_tried_at as "firstTriedAt", next.created_at as "createdAt", sequence,
  occurred_at as "occurredAt", details
from (
  select group_key
  from delivery_group
  where client_id = :clientId and webhook_id = :webhookId and pending > 0 and due_at <= now()
    and group_key <> all(:busyGroups::text[])
  order by due_at
  limit :limit
) as due
cross join lateral (
  select position, event_id, type, round, failures, first_tried_at, created_at
  from delivery
  where client_id = :clientId and webhook_id = :webhookId and status = 'Pending'
    and delivery.group_key >= due.group_key and delivery.group_key <= due.group_key
  order by delivery.group_key, position
  limit 1
) as next
left join lateral (
  select sequence, occurred_at, details
  from published_event
  where published_event.client_id = :clientId and published_event.position = next.position
  limit 1
) as published on true;

-- name: drop_idle_delivery_groups
delete from delivery_group
where client_id = :clientId and webhook_id = :webhookId and group_key = any(:groupKeys)
  and pending = 0;

-- name: fail_pending_deliveries
with found as (
  select position, group_key
  from delivery
  where client_id = :clientId and webhook_id = :webhookId and status = 'Pending'
    and group_key is distinct from :keptGroup
  order by group_key, position
  limit :limit
), locked as (
  select group_key
  from delivery_group
  where client_id = :clientId and webhook_id = :webhookId
    and group_key = any(array(select group_key from found))
  order by group_key
  for update
), failed as (
  update delivery
  set status = 'Failed'
  where client_id = :clientId and webhook_id = :webhookId and status = 'Pending'
    and position = any(array(select position from found))
    and (select count(*) from locked) >= 0
  returning group_key
)
update delivery_group
set pending = pending - done.count
from (
  select group_key, count(*)::integer as count
  from failed
  group by group_key
) as done
where client_id = :clientId and webhook_id = :webhookId
  and delivery_group.group_key = done.group_key
  and delivery_group.group_key = any(array(select group_key from failed))
returning delivery_group.group_key as "groupKey", pending;
