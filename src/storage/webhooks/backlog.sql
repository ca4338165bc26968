-- Unsent events. Each statement reads the first 10,000 rows of an index that holds only the counted
-- rows.

-- name: measure_unpublished_events
select count(*)::integer as "count",
  greatest(0, coalesce(extract(epoch from now() - min(occurred_at)), 0))::float8 as "seconds"
from (
  select occurred_at
  from event
  where not published
  order by occurred_at, public_token, sequence
  limit 10000
) as unpublished;

-- name: measure_pending_deliveries
select coalesce(sum(pending), 0)::integer as "count", 0::float8 as "seconds"
from (
  select pending
  from delivery_group
  where pending > 0
  limit 10000
) as groups;

-- name: measure_due_delivery_queues
select count(*)::integer as "count",
  greatest(0, coalesce(extract(epoch from now() - min(due_at)), 0))::float8 as "seconds"
from (
  select due_at
  from delivery_queue
  where failing = :failing and due_at <= now() and leased_until <= now()
    and exists (
      select 1 from client where client.client_id = delivery_queue.client_id and receives_events
    )
  order by due_at
  limit 10000
) as due;
