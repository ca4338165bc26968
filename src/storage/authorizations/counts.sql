-- The number of authorizations by client, answer and minute or hour. If a list is joined to its
-- table, it is materialized and joined row by row, so that no plan reads more than its rows.

-- name: find_newest_counts
select
  (select max(minute) from authorization_count) as "minute",
  (select max(hour) from authorization_hour_count) as "hour";

-- After a pause, the first counted minute is the next one with authorizations. A row is found by
-- its arrival and counted by its answer, which is at most a minute later. A decision commits within
-- 10 seconds, because no statement waits longer for a lock.
-- name: count_authorizations_by_minute
with next as materialized (
  select date_trunc('minute', requested_at, 'UTC') as minute
  from authorization_request
  where requested_at >= :from::timestamptz - interval '1 minute' and decided_at >= :from
  order by requested_at
  limit 1
)
select date_trunc('minute', decided_at, 'UTC') as "minute", client_id as "clientId",
  response_code as "responseCode",
  coalesce(billing_currency_code, currency_code, '') as "currencyCode",
  count(*)::float8 as "count",
  coalesce(
    sum(coalesce(approved_amount, billing_amount, amount)) filter (where payment_id is not null), 0
  )::float8 as "heldAmount"
from authorization_request
where requested_at >= (select minute from next)
  and requested_at < (select minute from next) + make_interval(mins => :minutes)
  and decided_at >= :from
  and decided_at < (select minute from next) + make_interval(mins => :minutes)
  and decided_at < date_trunc('minute', now() - interval '10 seconds', 'UTC')
group by 1, 2, 3, 4;

-- name: keep_authorization_counts
insert into authorization_count (
  minute, client_id, response_code, currency_code, count, held_amount
)
select minute, client_id, response_code, currency_code, count, held_amount
from unnest(
  :minutes::timestamptz[], :clientIds::text[], :responseCodes::text[], :currencyCodes::text[],
  :counts::bigint[], :heldAmounts::bigint[]
) as counted (minute, client_id, response_code, currency_code, count, held_amount)
order by minute, client_id, response_code, currency_code
on conflict (minute, client_id, response_code, currency_code) do update
set count = excluded.count, held_amount = excluded.held_amount;

-- The hours are complete, so that another process has stored the same sums.
-- name: keep_authorization_hour_counts
insert into authorization_hour_count (
  hour, client_id, response_code, currency_code, count, held_amount
)
select date_trunc('hour', minute, 'UTC') as counted_hour, client_id, response_code, currency_code,
  sum(count), sum(held_amount)
from authorization_count
where minute >= :from::timestamptz and minute < :until::timestamptz
group by counted_hour, client_id, response_code, currency_code
order by counted_hour, client_id, response_code, currency_code
on conflict (hour, client_id, response_code, currency_code) do nothing;

-- Intervals begin with `:from`, and are whole hours long.
-- name: sum_authorization_hour_counts
select extract(epoch from bucket)::float8 as "from", client_id as "clientId",
  response_code as "responseCode", currency_code as "currencyCode",
  sum(count)::float8 as "count", sum(held_amount)::float8 as "heldAmount"
from (
  select date_bin(make_interval(secs => :bucketSeconds::integer), hour, :from::timestamptz)
      as bucket,
    case when :byClient::boolean then client_id else '' end as client_id,
    response_code, currency_code, count, held_amount
  from authorization_hour_count
  where hour >= :since::timestamptz and hour < :until::timestamptz
    and (:clientId::text is null or client_id = :clientId)
) as counted
group by bucket, client_id, response_code, currency_code
order by bucket, client_id, response_code, currency_code;

-- Intervals begin with `:from`, and are whole minutes long.
-- name: sum_authorization_counts
select extract(epoch from bucket)::float8 as "from", client_id as "clientId",
  response_code as "responseCode", currency_code as "currencyCode",
  sum(count)::float8 as "count", sum(held_amount)::float8 as "heldAmount"
from (
  select date_bin(make_interval(secs => :bucketSeconds::integer), minute, :from::timestamptz)
      as bucket,
    case when :byClient::boolean then client_id else '' end as client_id,
    response_code, currency_code, count, held_amount
  from authorization_count
  where minute >= :since::timestamptz and minute < :until::timestamptz
    and (:clientId::text is null or client_id = :clientId)
) as counted
group by bucket, client_id, response_code, currency_code
order by bucket, client_id, response_code, currency_code;

-- name: count_authorizations
select extract(epoch from bucket)::float8 as "from", client_id as "clientId",
  response_code as "responseCode", currency_code as "currencyCode",
  count(*)::float8 as "count", coalesce(sum(held_amount), 0)::float8 as "heldAmount"
from (
  select date_bin(make_interval(secs => :bucketSeconds::integer), decided_at, :from::timestamptz)
      as bucket,
    case when :byClient::boolean then client_id else '' end as client_id,
    response_code, coalesce(billing_currency_code, currency_code, '') as currency_code,
    case when payment_id is not null then coalesce(approved_amount, billing_amount, amount) end
      as held_amount
  from authorization_request
  where requested_at >= :since::timestamptz - interval '1 minute'
    and requested_at < :until::timestamptz
    and decided_at >= :since and decided_at < :until
    and (:clientId::text is null or client_id = :clientId)
) as counted
group by bucket, client_id, response_code, currency_code
order by bucket, client_id, response_code, currency_code;

-- name: prune_authorization_counts
with old as materialized (
  select minute, client_id, response_code, currency_code
  from authorization_count
  where minute < (select now() - make_interval(days => :days))
  order by minute
  limit :limit
)
delete from authorization_count
using old
where authorization_count.minute = any(array[old.minute])
  and authorization_count.client_id between old.client_id and old.client_id
  and authorization_count.response_code between old.response_code and old.response_code
  and authorization_count.currency_code between old.currency_code and old.currency_code
  and now() - authorization_count.minute > make_interval(days => :days)
returning authorization_count.minute;

-- name: prune_authorization_hour_counts
with old as materialized (
  select hour, client_id, response_code, currency_code
  from authorization_hour_count
  where hour < (select now() - make_interval(days => :days))
  order by hour
  limit :limit
)
delete from authorization_hour_count
using old
where authorization_hour_count.hour = any(array[old.hour])
  and authorization_hour_count.client_id between old.client_id and old.client_id
  and authorization_hour_count.response_code between old.response_code and old.response_code
  and authorization_hour_count.currency_code between old.currency_code and old.currency_code
  and now() - authorization_hour_count.hour > make_interval(days => :days)
returning authorization_hour_count.hour;
