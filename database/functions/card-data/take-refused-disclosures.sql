-- Takes refused and failed disclosures of past minutes. The caller must enter them in the audit log
-- in the same transaction.
--
-- The list is materialized and joined row by row, so that no plan reads more than its rows. Times
-- are texts to the microsecond, which a JavaScript date would lose.
--
-- Returns the rows, oldest first, as one JSON list.
create or replace function take_refused_disclosures(p_limit integer) returns json
language plpgsql
as $function$
declare
  v_rows json;
begin
  with past as materialized (
    select entry_id
    from refused_disclosure
    where minute < (select date_trunc('minute', clock_timestamp(), 'UTC'))
    order by minute, entry_id
    limit p_limit
  ), taken as (
    delete from refused_disclosure
    using past
    where refused_disclosure.entry_id = any(array[past.entry_id])
    returning refused_disclosure.*
  )
  select coalesce(json_agg(listed), '[]')
  into v_rows
  from (
    select entry_id as "entryId", client_id as "clientId", public_token as "publicToken", act,
      includes_pin as "includesPin", device, outcome, reason, count,
      to_char(first_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at",
      to_char(last_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "lastAt",
      request_id as "requestId"
    from taken
    order by first_at, entry_id
  ) as listed;
  return v_rows;
end
$function$;
