-- Disclosures that were asked for and refused, counted minute by minute.

-- In one order, so that processes that count the same wait for each other, and never in a circle.
-- name: count_refused_disclosures
insert into refused_disclosure (minute, client_id, public_token, act, includes_pin, device, outcome,
  reason, count, first_at, last_at, request_id)
select date_trunc('minute', at, 'UTC'), client_id, public_token, act, includes_pin, device, outcome,
  reason, count, at, clock_timestamp(), request_id
from (
  select given.*, clock_timestamp() - make_interval(secs => age_seconds) as at
  from unnest(:clientIds::text[], :publicTokens::text[], :acts::text[], :includesPin::boolean[],
    :devices::text[], :outcomes::text[], :reasons::text[], :counts::bigint[],
    :requestIds::text[], :agesSeconds::float8[])
    as given (client_id, public_token, act, includes_pin, device, outcome, reason, count,
      request_id, age_seconds)
) as refused
order by client_id, public_token, act, includes_pin, device, outcome, reason
on conflict (client_id, minute, public_token, act, includes_pin, device, outcome, reason) do update
set count = refused_disclosure.count + excluded.count, last_at = excluded.last_at;
