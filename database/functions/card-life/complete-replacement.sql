-- Retires a replaced card before its successor is activated, once for an idempotency key. A card
-- that is closed or retired does not change.
--
-- p_public_token is the first card of the line. Lock order: line, key.
--
-- Returns whether it was done. It is not done if the card belongs to another client or has no
-- successor that was or can be activated, or if the key was not free.
--
-- Distributed by p_public_token, beside card.
create or replace function complete_replacement(
  p_public_token text,
  p_replaced_token text,
  p_client_id text,
  p_today date,
  p_request_id text,
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
  v_successor_token text;
begin
  select * into v_card
  from card
  where public_token = p_replaced_token;
  if v_card.client_id is distinct from p_client_id
    or v_card.line_token is distinct from p_public_token
  then
    return false;
  end if;
  perform lock_line(p_public_token, v_card.generation);
  v_successor_token := find_successor(p_public_token, v_card.generation, p_today);
  if v_successor_token is null then
    return false;
  end if;
  if not claim_idempotency_key(
    p_claimant_id, p_key_hashes, p_request_fingerprint, p_claim_id, p_answer
  )
  then
    return false;
  end if;
  perform retire_card(p_replaced_token, v_successor_token, p_today, p_request_id, null);
  return true;
end
$function$;
