-- Queues a command that a client requested for the chip of its card, once for an idempotency key.
--
-- p_number is the number that the command was announced under: that of the card's next event. Lock
-- order: card, key. The call does everything or nothing.
--
-- Returns whether it was done. It is not done if the card belongs to another client or had another
-- event meanwhile, or if the key was not free.
--
-- Distributed by p_public_token, beside card.
create or replace function request_chip_command(
  p_public_token text,
  p_client_id text,
  p_number integer,
  p_command text,
  p_data_object bytea,
  p_pan_sequence_number text,
  p_request_id text,
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
    or v_card.last_sequence + 1 is distinct from p_number
  then
    return false;
  end if;
  if not claim_idempotency_key(
    p_claimant_id, p_key_hashes, p_request_fingerprint, p_claim_id, p_answer
  )
  then
    return false;
  end if;
  perform queue_chip_command(
    p_public_token, p_client_id, p_command, null, null, p_data_object, p_pan_sequence_number,
    p_request_id, p_operator_id
  );
  return true;
end
$function$;
