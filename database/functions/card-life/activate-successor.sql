-- Activates the successor of a replaced card, once for an idempotency key: retires the cards before
-- it in the same transaction, and records the events. So at most one card of a line is active.
--
-- p_public_token is the first card of the line. A PIN that the successor has from another card of
-- the line is carried again if it changed there since, or another card is in use meanwhile:
-- p_pin_source_token is that card (find_pin_source), p_pin_source_version the version there, and
-- p_pin_block has that PIN for the successor. The version and the block are null if the successor
-- has that PIN. If the successor has a chip, the chip learns a changed PIN by a command.
--
-- With p_is_pin_new, the card that the PIN comes from was stolen meanwhile, and the client has not
-- asked for its PIN: p_pin_block or p_pvv is a new one, which has all tries. The event is pin.set.
--
-- p_limit_name is that of the unblocks of a PIN, null without one (finish_activation).
--
-- The controls of the card in use are carried again, unless the successor has controls of its own
-- (carry_controls).
--
-- Lock order: line, key, limit, counter. Returns whether it was done. It is not done if the card
-- belongs to another client, is not inactive, has expired or is replaced by an activated card, if
-- its plastic was returned, if its PIN has another version, or if the key was not free.
--
-- Distributed by p_public_token, beside card.
create or replace function activate_successor(
  p_public_token text,
  p_successor_token text,
  p_client_id text,
  p_today date,
  p_pin_source_token text,
  p_pin_source_version integer,
  p_is_pin_new boolean,
  p_pin_block bytea,
  p_pvv text,
  p_pin_key text,
  p_has_chip boolean,
  p_limit_name text,
  p_uses integer,
  p_window_seconds integer,
  p_request_id text,
  p_note bytea,
  p_operator_id text,
  p_claimant_id text,
  p_key_hashes bytea[],
  p_request_fingerprint bytea,
  p_claim_id uuid,
  p_answer bytea
) returns boolean
language plpgsql
as $function$
declare
  v_line text[];
  v_card card;
  v_pin_version integer;
  v_source_status text;
  v_place card_line;
  v_sequence integer;
begin
  select * into v_card
  from card
  where public_token = p_successor_token;
  if v_card.line_token is distinct from p_public_token or v_card.generation = 0 then
    return false;
  end if;
  v_line := lock_line(p_public_token, v_card.generation);
  select * into v_card
  from card
  where public_token = p_successor_token;
  if v_card.client_id <> p_client_id or v_card.status_code <> '02'
    or not is_changeable(v_card, p_today)
    or exists (
      select
      from card_line
      where public_token = p_public_token and generation > v_card.generation
        and activated_at is not null
    )
    or exists (
      select
      from plastic
      where public_token = p_successor_token and state = 'Current'
        and delivery_status = 'Returned'
    )
  then
    return false;
  end if;
  if p_pin_source_token is distinct from find_pin_source(
    p_public_token, v_card.generation, v_card.pin_source_token
  )
  then
    return false;
  end if;
  select * into v_place
  from card_line
  where public_token = p_public_token and generation = v_card.generation;
  select pin_version, status_code into v_pin_version, v_source_status
  from card
  where public_token = p_pin_source_token;
  if p_is_pin_new <> (
    coalesce(v_source_status = '43', false) and not v_place.is_pin_requested
  )
  then
    return false;
  end if;
  if v_pin_version is distinct from coalesce(
    p_pin_source_version,
    case p_pin_source_token when v_card.pin_source_token then v_card.carried_pin_version end
  )
  then
    return false;
  end if;
  if not claim_idempotency_key(
    p_claimant_id, p_key_hashes, p_request_fingerprint, p_claim_id, p_answer
  )
  then
    return false;
  end if;
  v_sequence := v_card.last_sequence + 1;
  if p_is_pin_new then
    perform record_event(
      p_successor_token, v_sequence, p_client_id, 'pin.set', p_request_id, '{}', null,
      p_operator_id
    );
    v_sequence := v_sequence + 1;
  end if;
  update card
  set status_code = '00',
    pin_block = case
      when p_is_pin_new then p_pin_block
      else coalesce(p_pin_block, v_card.pin_block)
    end,
    pvv = case when p_is_pin_new then p_pvv else v_card.pvv end,
    pin_key = coalesce(p_pin_key, v_card.pin_key),
    pin_version = v_card.pin_version + case when p_is_pin_new then 1 else 0 end,
    pin_source_token = null,
    carried_pin_version = null,
    last_sequence = v_sequence + 1
  where public_token = p_successor_token;
  perform record_event(
    p_successor_token, v_sequence, p_client_id, 'card.status_changed', p_request_id,
    json_build_object('from', '02', 'to', '00')::text, p_note, p_operator_id
  );
  perform record_event(
    p_successor_token, v_sequence + 1, p_client_id, 'card.activated', p_request_id,
    json_build_object('replacementFor', v_place.replaced_token)::text, null, p_operator_id
  );
  if p_pin_block is not null and p_has_chip then
    perform queue_chip_command(
      p_successor_token, p_client_id, 'change_pin', p_pin_block, p_pin_key, null, null,
      p_request_id, p_operator_id
    );
  end if;
  perform finish_activation(
    v_line, case when not p_is_pin_new then p_pin_source_token end, p_limit_name, p_uses,
    p_window_seconds, p_today, p_request_id, p_operator_id
  );
  perform carry_controls(p_public_token, p_successor_token, p_request_id, p_operator_id);
  return true;
end
$function$;
