-- Replaces the controls of a client's card under the next version, and records the event, once for
-- an idempotency key.
--
-- p_version is the version that is replaced. p_controls is stored under the next one. Lock order:
-- card, key. The call does everything or nothing.
--
-- Returns whether it was done. It is not done if the card belongs to another client, is closed or
-- expired, or has controls of another version, or if the key was not free.
--
-- Distributed by p_public_token, beside card.
create or replace function change_card_controls(
  p_public_token text,
  p_client_id text,
  p_today date,
  p_version integer,
  p_controls jsonb,
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
begin
  if v_card.client_id is distinct from p_client_id
    or v_card.controls_version is distinct from p_version
    or not is_changeable(v_card, p_today)
  then
    return false;
  end if;
  if not claim_idempotency_key(
    p_claimant_id, p_key_hashes, p_request_fingerprint, p_claim_id, p_answer
  )
  then
    return false;
  end if;
  insert into card_controls (public_token, version, controls, changed_at)
  values (p_public_token, p_version + 1, p_controls, clock_timestamp());
  update card
  set controls_version = p_version + 1,
    last_sequence = v_card.last_sequence + 1
  where public_token = p_public_token;
  perform record_event(
    p_public_token, v_card.last_sequence + 1, p_client_id, p_event_type, p_request_id, p_details,
    p_note, p_operator_id
  );
  return true;
end
$function$;
