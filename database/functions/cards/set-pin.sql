-- Sets the PIN of a client's card and records the event, once for an idempotency key. The tries do
-- not change. From then on, a successor does not take the PIN of the card that it replaces.
--
-- The PIN is stored as a PIN block or as a PVV, with the key that it is under. A PIN that a device
-- sealed comes in an envelope, which a card accepts once: p_jti_hash names it, and is null for a
-- PIN without one. Lock order: card, key. The call does everything or nothing.
--
-- p_chip_pin_block is null unless the card has a chip. A command that changes the PIN in the chip
-- is then queued with it. Otherwise waiting commands for the PIN end, so that no older one returns.
--
-- Returns whether it was done. It is not done if the card belongs to another client, is closed or
-- expired, or accepted the envelope before, or if the key was not free.
--
-- Distributed by p_public_token, beside card.
create or replace function set_pin(
  p_public_token text,
  p_client_id text,
  p_today date,
  p_pin_block bytea,
  p_pvv text,
  p_pin_key text,
  p_chip_pin_block bytea,
  p_chip_pin_key text,
  p_jti_hash bytea,
  p_envelope_expires_at timestamptz,
  p_event_type text,
  p_request_id text,
  p_details text,
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
  v_card card;
begin
  v_card := lock_card(p_public_token);
  if v_card.client_id is distinct from p_client_id or not is_changeable(v_card, p_today) then
    return false;
  end if;
  -- The lock on the card keeps other transactions from storing one of its envelopes.
  if p_jti_hash is not null and exists (
    select
    from pin_envelope
    where public_token = p_public_token and jti_hash = p_jti_hash
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
  if p_jti_hash is not null then
    insert into pin_envelope (public_token, jti_hash, expires_at)
    values (p_public_token, p_jti_hash, p_envelope_expires_at);
  end if;
  update card
  set pin_block = p_pin_block,
    pvv = p_pvv,
    pin_key = p_pin_key,
    pin_version = v_card.pin_version + 1,
    pin_source_token = null,
    carried_pin_version = null,
    last_sequence = v_card.last_sequence + 1
  where public_token = p_public_token;
  perform record_event(
    p_public_token, v_card.last_sequence + 1, p_client_id, p_event_type, p_request_id, p_details,
    p_note, p_operator_id
  );
  if p_chip_pin_block is not null then
    perform queue_chip_command(
      p_public_token, p_client_id, 'change_pin', p_chip_pin_block, p_chip_pin_key, null, null,
      p_request_id, p_operator_id
    );
  elsif v_card.card_type = 'Physical' then
    perform supersede_pin_commands(array[p_public_token]);
  end if;
  return true;
end
$function$;
