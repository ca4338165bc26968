-- Wrong expiries, in one row for each card and network.

-- Each instant is later than the one before it, so that the one that is reported differs from all
-- others.
-- name: count_wrong_expiry
with clock as materialized (
  select (extract(epoch from clock_timestamp()) * 1000000)::bigint as at
), counted as (
  insert into wrong_expiry (public_token, client_id, given_at, forget_on_day)
  select :publicToken, :clientId, array[at], (at + :windowLength::bigint) / 86400000000 + 1
  from clock
  on conflict (public_token, client_id) do update
  set given_at = greatest(excluded.given_at[1], wrong_expiry.given_at[1] + 1)
      || wrong_expiry.given_at[1 : :mistakes::integer - 1],
    reported_at = case
      when wrong_expiry.given_at[:mistakes::integer]
          > greatest(excluded.given_at[1], wrong_expiry.given_at[1] + 1) - :windowLength::bigint
        and coalesce(wrong_expiry.reported_at, 0)
          <= greatest(excluded.given_at[1], wrong_expiry.given_at[1] + 1) - :windowLength::bigint
      then greatest(excluded.given_at[1], wrong_expiry.given_at[1] + 1)
      else wrong_expiry.reported_at end,
    forget_on_day = greatest(excluded.forget_on_day, wrong_expiry.forget_on_day)
  returning coalesce(reported_at = given_at[1], false) as is_to_report
)
select is_to_report as "isToReport"
from counted;

-- name: count_wrong_expiry_and_record
with clock as materialized (
  select (extract(epoch from clock_timestamp()) * 1000000)::bigint as at
), counted as (
  insert into wrong_expiry (public_token, client_id, given_at, forget_on_day)
  select :publicToken, :clientId, array[at], (at + :windowLength::bigint) / 86400000000 + 1
  from clock
  on conflict (public_token, client_id) do update
  set given_at = greatest(excluded.given_at[1], wrong_expiry.given_at[1] + 1)
      || wrong_expiry.given_at[1 : :mistakes::integer - 1],
    reported_at = case
      when wrong_expiry.given_at[:mistakes::integer]
          > greatest(excluded.given_at[1], wrong_expiry.given_at[1] + 1) - :windowLength::bigint
        and coalesce(wrong_expiry.reported_at, 0)
          <= greatest(excluded.given_at[1], wrong_expiry.given_at[1] + 1) - :windowLength::bigint
      then greatest(excluded.given_at[1], wrong_expiry.given_at[1] + 1)
      else wrong_expiry.reported_at end,
    forget_on_day = greatest(excluded.forget_on_day, wrong_expiry.forget_on_day)
  returning coalesce(reported_at = given_at[1], false) as is_to_report
), authorization_recorded as (
  insert into authorization_record (public_token, authorization_id, network_id, request_id,
    reference, entry_mode, response_code, checks, duration_ms, remaining_tries)
  select :publicToken, :authorizationId::uuid, :networkId::text, :requestId::text,
    :reference::text, :entryMode::text, :responseCode::text, :checks::text, :durationMs::integer,
    null::integer
  from counted
)
select is_to_report as "isToReport"
from counted;

-- The list is materialized and joined row by row, so that no plan reads more than its rows.
-- name: prune_wrong_expiries
with old as materialized (
  select public_token, client_id
  from wrong_expiry
  where forget_on_day <= (select :day::integer)
  order by forget_on_day
  limit :limit
)
delete from wrong_expiry
using old
where wrong_expiry.public_token = any(array[old.public_token])
  and wrong_expiry.client_id between old.client_id and old.client_id
  and forget_on_day - :day <= 0
returning wrong_expiry.public_token as "publicToken";
