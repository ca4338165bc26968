-- Slices: the partitions of event and published_event, each of some days.

-- name: find_database_day
select floor(extract(epoch from now()) / 86400)::integer as "day";

-- The bounds of a partition are kept as an expression, which the catalogue shows as text.
-- name: list_slices
select (extract(epoch from bounds[1]::timestamptz) / 86400)::integer as "fromDay",
  (extract(epoch from bounds[2]::timestamptz) / 86400)::integer as "untilDay"
from pg_inherits
join pg_class on pg_class.oid = inhrelid
cross join lateral regexp_match(pg_get_expr(relpartbound, inhrelid), :boundsPattern) as bounds
where inhparent = :table::regclass and bounds is not null
order by "fromDay";

-- name: has_unpublished_events
select 1 as one
from event
where not published and occurred_at >= :from::timestamptz and occurred_at < :until::timestamptz
limit 1;
