-- Changes the status of a client's card and records the event, once for an idempotency key.
--
-- The card must have the status p_from. A retired card is never active again, and a successor is
-- activated with its line (activate_successor). A final status ends the waiting commands to the
-- chip, except those that block it, and cancels the plastics that are not produced yet. Lock order:
-- card, key. The call does everything or nothing.
--
-- Returns whether it was done. It is not done if the card belongs to another client or has another
-- status, or if the key was not free.
--
-- Distributed by p_public_token, beside card.
create or replace function change_card_status(
  p_public_token text,
  p_client_id text,
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
  v_card card;
begin
  v_card := lock_card(p_public_token);
  if v_card.client_id is distinct from p_client_id
    or v_card.status_code is distinct from p_from
    or p_to = '00' and (v_card.retired_at is not null or p_from = '02' and v_card.generation > 0)
  then
    return false;
  end if;
  if not claim_idempotency_key(
    p_claimant_id, p_key_hashes, p_request_fingerprint, p_claim_id, p_answer
  )
  then
    return false;
  end if;
  update card
  set status_code = p_to, last_sequence = v_card.last_sequence + 1
  where public_token = p_public_token;
  perform record_event(
    p_public_token, v_card.last_sequence + 1, p_client_id, p_event_type, p_request_id, p_details,
    p_note, p_operator_id
  );
  if p_to not in ('00', '02', '62') then
    perform supersede_commands_of_closed(array[p_public_token]);
    perform cancel_orders(p_public_token, p_request_id, p_operator_id);
  end if;
  return true;
end
$function$;
