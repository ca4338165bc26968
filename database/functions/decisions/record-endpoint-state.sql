-- Records that an endpoint stopped answering, or answers again, with an event of the card whose
-- authorization showed it. Only a change is recorded: of several processes that see it, one reports
-- it. Only the version that stopped answering can answer again: another one in force, such as the
-- previous one beside a trial, shows nothing about it.
--
-- p_change is what a process has seen:
--   degraded: it stopped answering: p_unanswered of the last 50 requests were not answered.
--   answering: the first answer after that, or after a start of the process.
--   still-degraded, still-answering: nothing changed since.
-- A process that was lost confirms nothing. So an answer in a process that saw no change counts if
-- no process has confirmed for a minute that the endpoint is degraded.
--
-- Returns whether the state changed. Lock order: endpoint, card.
create or replace function record_endpoint_state(
  p_public_token text,
  p_client_id text,
  p_product_id integer,
  p_version integer,
  p_change text,
  p_unanswered integer
) returns boolean
language plpgsql
as $function$
declare
  v_now timestamptz := clock_timestamp();
  v_since timestamptz;
  v_version integer;
  v_seen_at timestamptz;
  v_is_degraded boolean := p_change in ('degraded', 'still-degraded');
  v_card card;
begin
  select degraded_since, degraded_version, degraded_seen_at into v_since, v_version, v_seen_at
  from decision_endpoint_state
  where client_id = p_client_id and product_id = p_product_id
  for no key update;
  if not found then
    return false;
  end if;
  if v_is_degraded and v_since is not null then
    update decision_endpoint_state
    set degraded_seen_at = v_now
    where client_id = p_client_id and product_id = p_product_id and degraded_version = p_version;
    return false;
  end if;
  if p_change = 'still-degraded' or not v_is_degraded and v_since is null then
    return false;
  end if;
  if not v_is_degraded and v_version <> p_version then
    return false;
  end if;
  if p_change = 'still-answering' and v_seen_at > v_now - interval '1 minute' then
    return false;
  end if;
  v_card := lock_card(p_public_token);
  if v_card.public_token is null then
    return false;
  end if;
  update decision_endpoint_state
  set degraded_since = case when v_is_degraded then v_now end,
    degraded_version = case when v_is_degraded then p_version end,
    degraded_seen_at = case when v_is_degraded then v_now end
  where client_id = p_client_id and product_id = p_product_id;
  update card
  set last_sequence = v_card.last_sequence + 1
  where public_token = p_public_token;
  perform record_event(
    p_public_token, v_card.last_sequence + 1, p_client_id,
    case
      when v_is_degraded then 'decision_endpoint.degraded'
      else 'decision_endpoint.recovered'
    end,
    null,
    jsonb_strip_nulls(jsonb_build_object(
      'productId', nullif(p_product_id, 0),
      'version', p_version,
      'unanswered', p_unanswered,
      'degradedSeconds', round(extract(epoch from v_now - v_since))::integer
    ))::text,
    null, null
  );
  return true;
end
$function$;
