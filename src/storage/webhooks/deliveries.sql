-- Deliveries: one event for one endpoint. A delivery belongs to a group, in which events are
-- sent in their order.

-- The group is read row by row, so that no plan reads all groups.
-- name: list_deliveries
select page.position::text as "position", page.event_id as "eventId",
  page.group_key as "groupKey", page.type, page.status, page.created_at as "createdAt",
  case
    when page.status = 'Pending' then greatest(due_at, (
      select rests_until
      from delivery_queue
      where client_id = :clientId and webhook_id = :webhookId
    ))
  end as "nextTryAt", page.tries
from (
  select group_key, position, event_id, type, status, created_at, tries
  from delivery
  where client_id = :clientId and webhook_id = :webhookId and position < :before::bigint
  order by position desc
  limit :limit
) as page
left join lateral (
  select due_at
  from delivery_group
  where client_id = :clientId and webhook_id = :webhookId
    and delivery_group.group_key = page.group_key
  limit 1
) as due on true
order by page.position desc;

-- The row of the queue is locked first, then the group's, then the delivery's.
-- name: resend_delivery
with found as (
  select group_key
  from delivery
  where client_id = :clientId and webhook_id = :webhookId and position = :position::bigint
    and exists (
      select 1
      from published_event
      where published_event.client_id = :clientId and published_event.position = :position::bigint
    )
), marked as (
  update delivery_queue
  set arrivals = arrivals + 1, due_at = now(), rests_until = '-infinity'
  where client_id = :clientId and webhook_id = :webhookId and exists (select 1 from found)
  returning arrivals
), locked as (
  select group_key
  from delivery_group
  where client_id = :clientId and webhook_id = :webhookId
    and group_key = (select group_key from found)
    and (select count(*) from marked) >= 0
  for update
), old as (
  select status as was
  from delivery
  where client_id = :clientId and webhook_id = :webhookId and position = :position::bigint
    and exists (select 1 from found)
    and (select count(*) from locked) >= 0
  for update
), again as (
  update delivery
  set status = 'Pending', failures = 0, first_tried_at = null, round = round + 1
  from old
  where client_id = :clientId and webhook_id = :webhookId and position = :position::bigint
  returning event_id, group_key, was
), groups as (
  insert into delivery_group (client_id, webhook_id, group_key, pending, due_at)
  select :clientId, :webhookId, group_key, case when was = 'Pending' then 0 else 1 end, now()
  from again
  on conflict (client_id, webhook_id, group_key) do update
  set pending = delivery_group.pending + excluded.pending, due_at = excluded.due_at
)
select event_id as "eventId"
from again;

-- name: ping_webhook
select ping_webhook(
  p_client_id => :clientId,
  p_webhook_id => :webhookId,
  p_event_id => :eventId,
  p_group_key => :groupKey
) as "isQueued";

-- name: lock_feed_head
select lock_feed_head(p_client_id => :clientId);

-- Locks are taken in the common order of all statements: head, webhook, groups, deliveries. Rows
-- are named by arrays, so that the index finds each, whatever size the planner expects.
-- name: replay_deliveries
with asked as (
  select replay_after, events
  from webhook
  where client_id = :clientId and webhook_id = :webhookId and status = 'Enabled'
    and replay_after is not null
  for update
), span as (
  select position, event_id, type, public_token
  from published_event
  where client_id = :clientId and position > (select replay_after from asked)
  order by position
  limit :limit
), wanted as (
  select position, event_id, type, public_token
  from span
  where (select asked.events && array['*', span.type] from asked)
), locked as (
  select group_key
  from delivery_group
  where client_id = :clientId and webhook_id = :webhookId
    and group_key = any(array(select public_token from wanted))
  order by group_key
  for update
), old as (
  select position, status
  from delivery
  where client_id = :clientId and webhook_id = :webhookId
    and position = any(array(select position from wanted))
    and (select count(*) from locked) >= 0
  order by position
  for update
), queued as (
  insert into delivery (client_id, webhook_id, position, event_id, type, group_key)
  select :clientId, :webhookId, position, event_id, type, public_token
  from wanted
  where (select count(*) from old) >= 0
  on conflict (client_id, webhook_id, position) do update
  set status = 'Pending', failures = 0, first_tried_at = null,
    round = delivery.round + case when delivery.status = 'Failed' then 1 else 0 end
  where delivery.status <> 'Delivered'
  returning position, group_key
), groups as (
  insert into delivery_group (client_id, webhook_id, group_key, pending, due_at)
  select :clientId, :webhookId, group_key,
    count(*) filter (where status is distinct from 'Pending'), now()
  from queued
  left join old on old.position = queued.position
  group by group_key
  order by group_key
  on conflict (client_id, webhook_id, group_key) do update
  set pending = delivery_group.pending + excluded.pending, due_at = excluded.due_at
)
update webhook
set replay_after = case
    when (select count(*) from span) = :limit then (select max(position) from span)
  end
where client_id = :clientId and webhook_id = :webhookId
  and replay_after = (select replay_after from asked)
returning replay_after is not null as "hasMore";
