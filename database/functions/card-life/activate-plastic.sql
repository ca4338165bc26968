-- Activates the plastic of a client's card that was ordered, and records the event with the note,
-- once for an idempotency key.
--
-- The plastic that waits becomes current. The plastic of a converted card is current already, and
-- works from then on. A plastic that was returned is not in the cardholder's hands. It cannot be
-- activated, and neither can one that expired while the next one waits. The status of the card does
-- not change, unless the card had expired meanwhile.
--
-- Lock order: card, key. The call does everything or nothing.
--
-- Returns whether it was done. It is not done if the card belongs to another client, is closed or
-- retired, or has no such plastic, or if the key was not free.
--
-- Distributed by p_public_token, beside card.
create or replace function activate_plastic(
  p_public_token text,
  p_client_id text,
  p_plastic_number integer,
  p_today date,
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
  v_card card := lock_card(p_public_token);
begin
  if v_card.client_id is distinct from p_client_id
    or not may_have_plastics(v_card)
    or v_card.valid_until < p_today
  then
    return false;
  end if;
  perform
  from plastic
  where public_token = p_public_token and plastic_number = p_plastic_number
    and (
      state = 'Waiting'
      or state = 'Current' and v_card.is_plastic_inactive and v_card.status_code = '00'
    )
    and delivery_status is distinct from 'Returned'
    and expiry_date >= p_today
  for no key update;
  if not found then
    return false;
  end if;
  if not claim_idempotency_key(
    p_claimant_id, p_key_hashes, p_request_fingerprint, p_claim_id, p_answer
  )
  then
    return false;
  end if;
  if p_plastic_number <> v_card.plastic_number then
    perform make_plastic_current(
      v_card, p_plastic_number, p_request_id, p_note, p_operator_id
    );
    return true;
  end if;
  update card
  set is_plastic_inactive = false,
    last_sequence = v_card.last_sequence + 1
  where public_token = p_public_token;
  perform record_event(
    p_public_token, v_card.last_sequence + 1, p_client_id, 'card.activated', p_request_id,
    json_build_object('plasticNumber', p_plastic_number)::text, p_note, p_operator_id
  );
  return true;
end
$function$;
