-- Records that data of a client's card is disclosed, and returns the data as it is under the lock.
--
-- A disclosure spends a use of a limit of the card and a use of a limit of its client over all
-- cards. A null limit is no limit. The event and the disclosure commit together. Lock order: card,
-- limit of the client. The call does everything or nothing.
--
-- Returns no row if the card belongs to another client, is closed or expired, or has no PIN to
-- disclose although p_includes_pin asks for it, or if a limit has no use left.
--
-- Distributed by p_public_token, beside card.
create or replace function record_disclosure(
  p_public_token text,
  p_client_id text,
  p_today date,
  p_includes_pin boolean,
  p_card_limit_name text,
  p_card_uses integer,
  p_card_window_seconds integer,
  p_client_limit_name text,
  p_client_uses integer,
  p_client_window_seconds integer,
  p_event_id uuid,
  p_event_type text,
  p_request_id text,
  p_details text,
  p_note bytea
) returns table (
  encrypted_pan bytea,
  expiry_date date,
  pin_block bytea,
  pin_key text,
  cvk text
)
language plpgsql
as $function$
declare
  v_card card;
begin
  v_card := lock_card(p_public_token);
  if v_card.client_id is distinct from p_client_id
    or not is_changeable(v_card, p_today)
    or (p_includes_pin and v_card.pin_block is null)
  then
    return;
  end if;
  if not has_card_use(v_card.line_token, p_card_limit_name, p_card_uses, p_card_window_seconds) then
    return;
  end if;
  if not use_client_limit(
    p_client_id, p_client_limit_name, p_client_uses, p_client_window_seconds
  )
  then
    return;
  end if;
  if not use_card_limit(
    v_card.line_token, p_card_limit_name, p_card_uses, p_card_window_seconds
  )
  then
    perform undo_act('A use of the limit is gone.');
  end if;
  update card
  set last_sequence = v_card.last_sequence + 1
  where public_token = p_public_token;
  insert into event (
    event_id, public_token, sequence, client_id, type, request_id, details, note
  )
  values (
    p_event_id, p_public_token, v_card.last_sequence + 1, p_client_id, p_event_type,
    p_request_id, p_details, p_note
  );
  return query
    select v_card.encrypted_pan, v_card.expiry_date, v_card.pin_block, v_card.pin_key, v_card.cvk;
end
$function$;
