-- Gives a successor that was activated the controls of the card that was in use before it, if they
-- differ: the newest card that was activated before, otherwise the first of the line. So a change
-- between the replacement and the activation is not lost. Records the event.
--
-- A successor that was given controls itself keeps them. The caller has locked the line.
create or replace function carry_controls(
  p_line_token text,
  p_successor_token text,
  p_request_id text,
  p_operator_id text
) returns void
language plpgsql
as $function$
declare
  v_place card_line;
  v_card card;
  v_source_token text;
  v_source card;
  v_controls jsonb;
  v_present jsonb;
begin
  select * into v_place
  from card_line
  where public_token = p_line_token and successor_token = p_successor_token;
  select * into v_card
  from card
  where public_token = p_successor_token;
  if v_place.carried_controls_version is distinct from v_card.controls_version then
    return;
  end if;
  select successor_token into v_source_token
  from card_line
  where public_token = p_line_token and generation < v_place.generation
    and activated_at is not null
  order by generation desc
  limit 1;
  select * into v_source
  from card
  where public_token = coalesce(v_source_token, p_line_token);
  select controls into v_controls
  from card_controls
  where public_token = v_source.public_token and version = v_source.controls_version;
  select controls into v_present
  from card_controls
  where public_token = p_successor_token and version = v_card.controls_version;
  if v_controls is null or v_controls is not distinct from v_present then
    return;
  end if;
  insert into card_controls (public_token, version, controls, changed_at)
  values (p_successor_token, v_card.controls_version + 1, v_controls, clock_timestamp());
  update card
  set controls_version = v_card.controls_version + 1,
    last_sequence = v_card.last_sequence + 1
  where public_token = p_successor_token;
  perform record_event(
    p_successor_token, v_card.last_sequence + 1, v_card.client_id, 'card.controls_changed',
    p_request_id, json_build_object('version', v_card.controls_version + 1)::text, null,
    p_operator_id
  );
end
$function$;
