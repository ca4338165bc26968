-- The outbox: events that were recorded with their acts and that readers do not see yet.

-- name: list_unplaced_events
select client_id as "clientId", public_token as "publicToken", sequence, event_id as "eventId",
  type, occurred_at::text as "occurredAt", details, request_id as "requestId",
  operator_id as "operatorId",
  exists (
    select 1
    from event earlier
    where earlier.public_token = event.public_token and earlier.sequence = event.sequence - 1
      and not earlier.published
  ) as "followsUnpublished"
from event
where not published and occurred_at >= :occurredAt::timestamptz
  and (occurred_at, public_token, sequence)
    > (:occurredAt::timestamptz, :publicToken, :sequence::integer)
  and client_id <> all(:leftClientIds::text[])
order by occurred_at, public_token, sequence
limit :limit;

-- One statement, so one commit. The row of feed_head is locked until it ends: other processes
-- that publish events of this client wait, and positions appear in their order. An event that
-- is published already is left out. After the head the rows of the queues are locked, then
-- those of the groups, as everywhere, so that no two transactions wait in a ring.
-- name: publish_events
with given as (
  select *
  from jsonb_to_recordset(:events::jsonb) as given (
    "publicToken" text, sequence integer, "eventId" uuid, type text, "occurredAt" timestamptz,
    details text, "requestId" text, "operatorId" text, ordinal integer
  )
), head as (
  insert into feed_head (client_id, last_position)
  values (:clientId, :count::bigint)
  on conflict (client_id) do update
  set last_position = feed_head.last_position + excluded.last_position
  returning last_position - :count::bigint as base
), published as (
  insert into published_event
    (client_id, position, event_id, public_token, sequence, type, occurred_at, details, request_id,
      operator_id)
  select :clientId, base + ordinal, "eventId", "publicToken", sequence, type, "occurredAt", details,
    "requestId", "operatorId"
  from given
  cross join head
  on conflict (event_id, client_id, occurred_at) do nothing
  returning position, event_id, public_token, type
), target as (
  select webhook_id, position, event_id, public_token, published.type
  from published
  join webhook
    on client_id = :clientId and webhook.events && array['*', published.type]
  where status = 'Enabled' and deleted_at is null
), delivering as (
  insert into delivery (client_id, webhook_id, position, event_id, type, group_key)
  select :clientId, webhook_id, position, event_id, type, public_token
  from target
), marked as (
  update delivery_queue
  set arrivals = arrivals + 1, due_at = least(due_at, now())
  where client_id = :clientId and webhook_id in (select webhook_id from target)
  returning arrivals
), groups as (
  insert into delivery_group (client_id, webhook_id, group_key, pending, due_at)
  select :clientId, webhook_id, public_token, count(*), now()
  from target
  where (select count(*) from marked) >= 0
  group by webhook_id, public_token
  order by webhook_id, public_token
  on conflict (client_id, webhook_id, group_key) do update
  set pending = delivery_group.pending + excluded.pending,
    due_at = case
      when delivery_group.pending = 0 then excluded.due_at
      else delivery_group.due_at
    end
)
select count(*)::integer as count
from published;

-- The list is materialized and joined row by row, so that no plan reads more than its rows.
-- name: mark_events_published
with done as materialized (
  select *
  from unnest(:times::timestamptz[], :publicTokens::text[], :sequences::integer[])
    as done (occurred_at, public_token, sequence)
)
update event
set published = true
from done
where event.occurred_at = any(array[done.occurred_at])
  and event.public_token between done.public_token and done.public_token
  and event.sequence between done.sequence and done.sequence;
