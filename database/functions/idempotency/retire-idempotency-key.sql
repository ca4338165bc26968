-- Retires a request's idempotency key: no repeat is answered under it.
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
