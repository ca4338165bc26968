-- Spends every try of a card at its client's request and records the event, once for an idempotency
-- key.
--
-- A new epoch begins, in which earlier tries restore nothing. Lock order: card, key, counter. So a
-- request that waits for a client's key holds no counter. The call does everything or nothing.
--
-- Returns whether it was done. It is not done if the card belongs to another client, is closed or
-- expired, or the key was not free.
--
-- Distributed by p_public_token, beside card.
create or replace function spend_all_tries(
  p_public_token text,
  p_client_id text,
  p_kind text,
  p_today date,
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
  if not claim_idempotency_key(
    p_claimant_id, p_key_hashes, p_request_fingerprint, p_claim_id, p_answer
  )
  then
    return false;
  end if;
  update try_counter
  set spent = restored + try_limit,
    epoch = epoch + 1,
    is_withdrawn = true,
    block_reported = true
  where public_token = p_public_token and kind = p_kind;
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
