-- Changes the delivery status of a plastic of a client's card, and records the event, once for an
-- idempotency key.
--
-- The plastic must have the status p_from. Which moves are allowed is the caller's table
-- (src/domain/delivery.ts). Lock order: card, plastic, key. The call does everything or nothing.
--
-- Returns whether it was done. It is not done if the card belongs to another client, if the plastic
-- has another status, or if the key was not free.
--
-- Distributed by p_public_token, beside card.
create or replace function change_delivery_status(
  p_public_token text,
  p_client_id text,
  p_plastic_number integer,
  p_from text,
  p_to text,
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
  v_card card := lock_card(p_public_token);
  -- Citus rejects clock functions in an update.
  v_now timestamptz := clock_timestamp();
begin
  if v_card.client_id is distinct from p_client_id then
    return false;
  end if;
  perform
  from plastic
  where public_token = p_public_token and plastic_number = p_plastic_number
    and delivery_status = p_from
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
  update plastic
  set delivery_status = p_to, delivery_changed_at = v_now
  where public_token = p_public_token and plastic_number = p_plastic_number;
  update card
  set last_sequence = v_card.last_sequence + 1
  where public_token = p_public_token;
  perform record_event(
    p_public_token, v_card.last_sequence + 1, p_client_id, p_event_type, p_request_id, p_details,
    p_note, p_operator_id
  );
  return true;
end
$function$;
