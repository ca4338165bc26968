-- Uses of limits: a row for each limit of a card, and for each limit of a client over all its
-- cards. Instants are whole microseconds. `forget_on_day` is counted from 1970, in days of
-- 86400000000 microseconds.

-- name: use_card_limit
select use_card_limit(
  p_public_token => :subject,
  p_limit_name => :limitName,
  p_uses => :uses,
  p_window_seconds => :windowSeconds
) as "isUsed";

-- name: use_client_limit
select use_client_limit(
  p_client_id => :subject,
  p_limit_name => :limitName,
  p_uses => :uses,
  p_window_seconds => :windowSeconds
) as "isUsed";

-- name: find_used_up_limit
with clock as materialized (
  select (extract(epoch from clock_timestamp()) * 1000000)::bigint as at
), asked as (
  select *
  from unnest(:kinds::text[], :subjects::text[], :limitNames::text[], :instants::integer[],
    :newestMosts::integer[], :windowLengths::bigint[]) with ordinality
    as asked (kind, subject, limit_name, instants, newest_most, window_length, place)
)
select place::integer as "place", ceil(wait / 1e6)::integer as "seconds"
from (
  select place, last_uses[instants] + window_length - at as wait
  from asked
  join card_limit on card_limit.public_token = asked.subject
    and card_limit.limit_name = asked.limit_name
  cross join clock
  where kind = 'card' and last_uses[instants] > at - window_length
    and newest_uses >= newest_most
  union all
  select place, last_uses[instants] + window_length - at as wait
  from asked
  join client_limit on client_limit.client_id = asked.subject
    and client_limit.limit_name = asked.limit_name
  cross join clock
  where kind = 'client' and last_uses[instants] > at - window_length
    and newest_uses >= newest_most
) as used_up
order by wait desc
limit 1;

-- name: delete_old_card_limits
select delete_old_card_limits(p_limit => :limit) as "count";

-- name: delete_old_client_limits
select delete_old_client_limits(p_limit => :limit) as "count";
