-- The feed of a client: its events at their positions, as readers see them, and the slots of its
-- event streams.

-- Bounds are row comparisons and limits are constants, so that no plan reads and sorts a whole
-- feed, whatever its statistics are. A page has at most 101 events.
-- name: list_placed_events
select position::text as "position", event_id as "eventId", public_token as "publicToken", sequence,
  type, occurred_at as "occurredAt", details
from (
  select client_id, position, event_id, public_token, sequence, type, occurred_at, details
  from published_event
  where (client_id, position) > (:clientId, :after::bigint) and client_id <= :clientId
  order by client_id, position
  limit 101
) as published_event
order by published_event.position
limit :limit;

-- Each type is scanned separately, in its order: however rare its events are, no others are read.
-- name: list_placed_events_of_types
select position::text as "position", event_id as "eventId", public_token as "publicToken", sequence,
  type, occurred_at as "occurredAt", details
from published_event
where client_id = :clientId and position = any(array(
  select scanned.position
  from (select distinct type from unnest(:types::text[]) as type) as asked
  cross join lateral (
    select position
    from published_event
    where client_id = :clientId
      and (published_event.type, position) > (asked.type, :after::bigint)
      and published_event.type <= asked.type
    order by published_event.type, position
    limit 101
  ) as scanned
  order by scanned.position
  limit :limit
))
order by published_event.position;

-- name: find_event_position
select position::text as "position"
from published_event
where client_id = :clientId and event_id = :eventId;

-- name: find_newest_event
select position::text as "position", event_id as "eventId"
from published_event
where client_id = :clientId
order by published_event.position desc
limit 1;

-- name: list_event_heads
select client_id as "clientId", last_position::text as "lastPosition"
from feed_head
where client_id = any(:clientIds);

-- name: claim_event_stream
with claimed as (
  insert into event_stream (client_id, slot, holder, leased_until)
  select :clientId, slot, :holder, now() + make_interval(secs => :seconds)
  from generate_series(1, :slots::integer) as slot
  where not exists (
    select 1
    from event_stream taken
    where taken.client_id = :clientId and taken.slot = slot.slot and taken.leased_until > now()
  )
  order by random()
  limit 1
  on conflict (client_id, slot) do update
  set holder = excluded.holder, leased_until = excluded.leased_until
  where excluded.leased_until - event_stream.leased_until >= make_interval(secs => :seconds)
  returning slot
)
select slot
from claimed;

-- name: renew_event_streams
update event_stream
set leased_until = now() + make_interval(secs => :seconds)
from client
where holder = any(:holders::uuid[]) and client.client_id = event_stream.client_id
  and client.active and 'events.read' = any(client.scopes)
returning holder;

-- name: release_event_stream
delete from event_stream
where client_id = :clientId and holder = :holder;
