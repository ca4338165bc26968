-- Slices: the partitions of event and published_event, each of several days.

-- name: find_database_day
select floor(extract(epoch from now()) / 86400)::integer as "day";

-- The bounds of a partition are stored as an expression, which the catalogue shows as text.
-- name: list_slices
select (extract(epoch from bounds[1]::timestamptz) / 86400)::integer as "fromDay",
  (extract(epoch from bounds[2]::timestamptz) / 86400)::integer as "untilDay"
from pg_inherits
join pg_class on pg_class.oid = inhrelid
cross join lateral regexp_match(pg_get_expr(relpartbound, inhrelid), :boundsPattern) as bounds
where inhparent = :table::regclass and bounds is not null
order by "fromDay";

-- name: make_slice
select make_slice(
  p_table => :table,
  p_from_day => :fromDay,
  p_until_day => :untilDay,
  p_wait_ms => :waitMs
) as "isThere";

-- name: drop_slice
select drop_slice(
  p_table => :table,
  p_from_day => :fromDay,
  p_until_day => :untilDay,
  p_wait_ms => :waitMs
) as "isDropped";

-- name: has_unpublished_events
select 1 as one
from event
where not published
  and occurred_at >= to_timestamp(:fromDay::integer * 86400.0)
  and occurred_at < to_timestamp(:untilDay::integer * 86400.0)
limit 1;

-- The last of a client's events in the slice was published last. Settled deliveries were deleted
-- before, so any remaining delivery of an event keeps the slice.
-- name: is_feed_slice_kept
with first as materialized (
  select position
  from published_event
  where client_id = :clientId
    and occurred_at >= to_timestamp(:fromDay::integer * 86400.0)
    and occurred_at < to_timestamp(:untilDay::integer * 86400.0)
  order by position
  limit 1
), last as materialized (
  select position, published_at
  from published_event
  where client_id = :clientId
    and occurred_at >= to_timestamp(:fromDay::integer * 86400.0)
    and occurred_at < to_timestamp(:untilDay::integer * 86400.0)
  order by position desc
  limit 1
)
select 1 as one
from first
cross join last
where last.published_at > now() - make_interval(days => :days)
  or last.position > coalesce((select position from audit_feed where client_id = :clientId), 0)
  or exists (
    select 1
    from webhook
    cross join lateral (
      select 1 as one
      from delivery
      where delivery.client_id = :clientId and delivery.webhook_id = webhook.webhook_id
        and delivery.position between first.position and last.position
      limit 1
    ) as needed
    where webhook.client_id = :clientId
  );
