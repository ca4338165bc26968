-- Claims the idempotency key of a request, so that the request is executed once.
--
-- Keyed hashes identify the key, one for each version of the hash's key, in ascending order. Of two
-- requests with the same key, the second waits until the first commits. A key that was claimed
-- within 24 hours is not free. A key that is free under some of its hashes only is not free either;
-- its new claims are removed.
--
-- Returns whether the key was free. A request without a key has null hashes: nothing is claimed.
create or replace function claim_idempotency_key(
  p_client_id text,
  p_key_hashes bytea[],
  p_request_fingerprint bytea,
  p_claim_id uuid,
  p_answer bytea
) returns boolean
language plpgsql
as $function$
declare
  v_key_hash bytea;
  v_claim_id uuid;
begin
  if p_key_hashes is null then
    return true;
  end if;
  foreach v_key_hash in array p_key_hashes loop
    insert into idempotency_record (client_id, key_hash, request_fingerprint, claim_id, answer)
    values (p_client_id, v_key_hash, p_request_fingerprint, p_claim_id, p_answer)
    on conflict (client_id, key_hash) do update
    set request_fingerprint = excluded.request_fingerprint,
      claim_id = excluded.claim_id,
      answer = excluded.answer,
      retired = false,
      created_at = excluded.created_at
    where excluded.created_at - idempotency_record.created_at > interval '24 hours'
    returning idempotency_record.claim_id into v_claim_id;
    if v_claim_id is null then
      foreach v_key_hash in array p_key_hashes loop
        delete from idempotency_record
        where client_id = p_client_id and key_hash = v_key_hash and claim_id = p_claim_id;
      end loop;
      return false;
    end if;
  end loop;
  return true;
end
$function$;
