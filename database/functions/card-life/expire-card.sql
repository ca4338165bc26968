-- Expires one card, as expire_cards does, because an act comes before the sweep. The caller has
-- locked the card's row.
--
-- Returns the row as it is afterwards.
create or replace function expire_card(p_public_token text) returns card
language plpgsql
as $function$
declare
  v_card card;
begin
  update card
  set status_code = '54',
    status_before_expiry = card.status_code,
    last_sequence = card.last_sequence + 1
  where card.public_token = p_public_token
  returning card.* into v_card;
  perform record_event(
    p_public_token, v_card.last_sequence, v_card.client_id, 'card.status_changed', null,
    json_build_object('from', v_card.status_before_expiry, 'to', '54')::text, null, null
  );
  perform supersede_commands_of_closed(array[p_public_token]);
  return v_card;
end
$function$;
