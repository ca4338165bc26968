-- Counts disclosures that were refused or failed, by the minute in which they were requested.
--
-- The rows are written in one order, so that two processes that count the same disclosures never
-- deadlock.
create or replace function count_refused_disclosures(
  p_client_ids text[],
  p_public_tokens text[],
  p_acts text[],
  p_includes_pin boolean[],
  p_devices text[],
  p_outcomes text[],
  p_reasons text[],
  p_counts bigint[],
  p_request_ids text[],
  p_ages_seconds double precision[]
) returns void
language plpgsql
as $function$
begin
  insert into refused_disclosure (
    minute, client_id, public_token, act, includes_pin, device, outcome, reason, count, first_at,
    last_at, request_id
  )
  select date_trunc('minute', at, 'UTC'), client_id, public_token, act, includes_pin, device,
    outcome, reason, count, at, clock_timestamp(), request_id
  from (
    select given.*, clock_timestamp() - make_interval(secs => age_seconds) as at
    from unnest(
      p_client_ids, p_public_tokens, p_acts, p_includes_pin, p_devices, p_outcomes, p_reasons,
      p_counts, p_request_ids, p_ages_seconds
    ) as given (
      client_id, public_token, act, includes_pin, device, outcome, reason, count, request_id,
      age_seconds
    )
  ) as refused
  order by client_id, public_token, act, includes_pin, device, outcome, reason
  on conflict (client_id, minute, public_token, act, includes_pin, device, outcome, reason)
  do update
  set count = refused_disclosure.count + excluded.count, last_at = excluded.last_at;
end
$function$;
