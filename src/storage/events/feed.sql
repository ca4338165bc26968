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
