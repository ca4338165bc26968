-- Cancels the plastic of a client's card that waits, and records the event with the note, once for
-- an idempotency key.
--
-- A plastic can be cancelled until it is produced, and again after it was returned. With
-- p_is_not_received it was lost on its way, and is cancelled wherever it is. Its number stays that
-- of a cancelled plastic. Lock order: card, plastic, key. The call does everything or nothing.
--
-- Returns whether it was done. It is not done if the card belongs to another client, is closed or
-- retired, or the plastic does not wait or was produced and not lost, or if the key was not free.
--
-- Distributed by p_public_token, beside card.
create or replace function cancel_plastic(
  p_public_token text,
  p_client_id text,
  p_plastic_number integer,
  p_is_not_received boolean,
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
  -- Citus rejects clock functions in an update.
  v_now timestamptz := clock_timestamp();
begin
  if v_card.client_id is distinct from p_client_id or not may_have_plastics(v_card) then
    return false;
  end if;
  perform
  from plastic
  where public_token = p_public_token and plastic_number = p_plastic_number
    and state = 'Waiting'
    and (p_is_not_received or delivery_status in ('Ordered', 'Returned'))
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
  -- Before the plastic ends, so that its number is not used again: a bureau without batches made
  -- it.
  if p_is_not_received then
    update plastic
    set delivery_status = 'Cancelled', delivery_changed_at = v_now
    where public_token = p_public_token and plastic_number = p_plastic_number
      and delivery_status <> 'Cancelled';
  end if;
  perform end_waiting_plastic(v_card, p_request_id, p_note, p_operator_id);
  return true;
end
$function$;
