-- Whether a key of a waiting request has another answer by now, or was deleted. Locks the keys
-- until the transaction ends.
--
-- p_claim: the claim of a pending decision, as reserve-decision.sql stores it; null, or the null of
-- JSON, for a request without a key.
create or replace function is_claim_taken(p_claim jsonb) returns boolean
language plpgsql
as $function$
declare
  v_client_id text := p_claim ->> 'clientId';
  v_claim_id uuid := (p_claim ->> 'claimId')::uuid;
  v_key_hash bytea;
  v_answer bytea;
  v_is_taken boolean := false;
begin
  if jsonb_typeof(p_claim) is distinct from 'object' then
    return false;
  end if;
  foreach v_key_hash in array string_to_array(p_claim ->> 'keyHashes', ',')::bytea[] loop
    select record.answer into v_answer
    from idempotency_record as record
    where record.client_id = v_client_id and record.key_hash = v_key_hash
      and record.claim_id = v_claim_id
    for no key update;
    v_is_taken := v_is_taken or not found or v_answer is not null;
  end loop;
  return v_is_taken;
end
$function$;
