-- Stores the answer of a request under its claim, unless an answer is already stored: the first
-- stays.
--
-- The hashes of the key, in ascending order, identify it. Two concurrent answers may have different
-- hashes, with at least one in common. So all rows of the claim are locked, one after the other,
-- before any is read.
--
-- Returns the stored answer, and whether it is p_answer; nulls if the claim was deleted.
create or replace function store_answer(
  p_client_id text,
  p_key_hashes bytea[],
  p_claim_id uuid,
  p_answer bytea,
  out answer bytea,
  out is_own boolean
)
language plpgsql
as $function$
#variable_conflict use_column
declare
  v_key_hash bytea;
  v_known_answer bytea;
  v_is_claimed boolean := false;
begin
  foreach v_key_hash in array p_key_hashes loop
    select idempotency_record.answer into v_known_answer
    from idempotency_record
    where client_id = p_client_id and key_hash = v_key_hash and claim_id = p_claim_id
    for no key update;
    v_is_claimed := v_is_claimed or found;
    answer := coalesce(answer, v_known_answer);
  end loop;
  if not v_is_claimed then
    return;
  end if;
  answer := coalesce(answer, p_answer);
  is_own := answer = p_answer;
  foreach v_key_hash in array p_key_hashes loop
    update idempotency_record
    set answer = store_answer.answer
    where client_id = p_client_id and key_hash = v_key_hash and claim_id = p_claim_id;
  end loop;
end
$function$;
