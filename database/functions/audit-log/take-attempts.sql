-- Takes tries that have a result or can no longer get one. The caller must enter them in the audit
-- log in the same transaction.
--
-- A try without a result for 35 seconds was lost with its process. The list is materialized and
-- joined row by row, so that no plan reads more than its rows. Times are texts to the microsecond,
-- which a JavaScript date would lose.
--
-- The statement is planned at each call: a plan from the time when the table was empty would
-- compare each of its rows with each waiting one.
--
-- Returns the tries, oldest first, as one JSON list.
create or replace function take_attempts(p_limit integer) returns json
language plpgsql
set plan_cache_mode = force_custom_plan
as $function$
declare
  v_rows json;
begin
  with waiting as materialized (
    select public_token, authorization_id
    from authorization_request
    where to_enter
      and (
        result <> 'unresolved' or response_code is not null
        or requested_at < clock_timestamp() - interval '35 seconds'
      )
    order by authorization_id
    limit p_limit
  ), taken as (
    update authorization_request
    set to_enter = false
    from waiting
    where authorization_request.public_token = any(array[waiting.public_token])
      and authorization_request.authorization_id
        between waiting.authorization_id and waiting.authorization_id
    returning authorization_request.*
  )
  select coalesce(json_agg(listed), '[]')
  into v_rows
  from (
    select public_token as "publicToken", kind, try_number as "tryNumber",
      network_id as "networkId", request_id as "requestId",
      to_char(requested_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at", result,
      remaining_tries as "remainingTries", entry_mode as "entryMode", reference
    from taken
    order by requested_at, public_token, kind, try_number
  ) as listed;
  return v_rows;
end
$function$;
