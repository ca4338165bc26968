-- Retires a request's idempotency key: repeats with this key no longer get its answer.
create or replace function retire_idempotency_key(
  p_client_id text,
  p_key_hashes bytea[]
) returns void
language plpgsql
as $function$
begin
  update idempotency_record
  set retired = true
  where client_id = p_client_id and key_hash = any (p_key_hashes);
end
$function$;
