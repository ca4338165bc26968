-- Replaces the sealed answer of a request with the same answer under another key, if it is still
-- p_answer.
--
-- Returns whether it was replaced.
create or replace function reseal_answer(
  p_client_id text,
  p_key_hash bytea,
  p_answer bytea,
  p_resealed bytea
) returns boolean
language plpgsql
as $function$
begin
  update idempotency_record
  set answer = p_resealed
  where client_id = p_client_id and key_hash = p_key_hash and answer = p_answer;
  return found;
end
$function$;
