-- Retires a card whose place another card of its line takes: it is restricted and can never be
-- active again. A card whose last day is before p_today expires first. An expired card keeps its
-- status, and can no longer be renewed. A plastic that waits, or is not produced yet, is cancelled.
-- Records the events.
--
-- The caller has locked the line. A card that is closed or retired does not change.
--
-- Returns whether it was retired now.
create or replace function retire_card(
  p_public_token text,
  p_replaced_by text,
  p_today date,
  p_request_id text,
  p_operator_id text
) returns boolean
language plpgsql
as $function$
declare
  v_card card := lock_card(p_public_token);
  v_sequence integer;
  v_retired_at timestamptz := clock_timestamp();
begin
  if not may_have_plastics(v_card) then
    return false;
  end if;
  if v_card.status_code <> '54' and v_card.valid_until < p_today then
    v_card := expire_card(p_public_token);
  end if;
  v_sequence := v_card.last_sequence + 1;
  if v_card.status_code in ('02', '00') then
    perform record_event(
      p_public_token, v_sequence, v_card.client_id, 'card.status_changed', p_request_id,
      json_build_object('from', v_card.status_code, 'to', '62')::text, null, p_operator_id
    );
    v_sequence := v_sequence + 1;
  end if;
  update card
  set status_code = case when v_card.status_code = '54' then '54' else '62' end,
    retired_at = v_retired_at,
    last_sequence = v_sequence
  where public_token = p_public_token;
  perform record_event(
    p_public_token, v_sequence, v_card.client_id, 'card.retired', p_request_id,
    json_build_object('replacedBy', p_replaced_by)::text, null, p_operator_id
  );
  perform supersede_commands_of_closed(array[p_public_token]);
  perform cancel_orders(p_public_token, p_request_id, p_operator_id);
  return true;
end
$function$;
