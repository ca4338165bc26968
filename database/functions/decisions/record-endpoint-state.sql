-- Records that an endpoint stopped answering, or answers again, with an event of the card whose
-- authorization showed it. Only a change is recorded: of several processes that see it, one reports
-- it. Only the version that stopped answering can answer again: another one in force, such as the
-- previous one beside a trial, shows nothing about it.
--
-- p_unanswered: how many of the last 50 requests were not answered; null: it answers again.
--
-- Returns whether the state changed. Lock order: endpoint, card.
create or replace function record_endpoint_state(
  p_public_token text,
  p_client_id text,
  p_product_id integer,
  p_version integer,
  p_unanswered integer
) returns boolean
language plpgsql
as $function$
declare
  v_now timestamptz := clock_timestamp();
  v_since timestamptz;
  v_version integer;
  v_card card;
begin
  select degraded_since, degraded_version into v_since, v_version
  from decision_endpoint_state
  where client_id = p_client_id and product_id = p_product_id
  for no key update;
  if not found or (v_since is null) = (p_unanswered is null) then
    return false;
  end if;
  if p_unanswered is null and v_version is distinct from p_version then
    return false;
  end if;
  v_card := lock_card(p_public_token);
  if v_card.public_token is null then
    return false;
  end if;
  update decision_endpoint_state
  set degraded_since = case when p_unanswered is not null then v_now end,
    degraded_version = case when p_unanswered is not null then p_version end
  where client_id = p_client_id and product_id = p_product_id;
  update card
  set last_sequence = v_card.last_sequence + 1
  where public_token = p_public_token;
  perform record_event(
    p_public_token, v_card.last_sequence + 1, p_client_id,
    case
      when p_unanswered is not null then 'decision_endpoint.degraded'
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
