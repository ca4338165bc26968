-- Stores the sealed answer to a waiting request under its keys, which is_claim_taken has locked.
--
-- p_claim: as in is_claim_taken.
create or replace function store_claimed_answer(p_claim jsonb, p_answer bytea) returns void
language plpgsql
as $function$
declare
  v_client_id text := p_claim ->> 'clientId';
  v_key_hash bytea;
begin
  if jsonb_typeof(p_claim) is distinct from 'object' then
    return;
  end if;
  foreach v_key_hash in array string_to_array(p_claim ->> 'keyHashes', ',')::bytea[] loop
    update idempotency_record as record
    set answer = p_answer
    where record.client_id = v_client_id and record.key_hash = v_key_hash;
  end loop;
end
$function$;
