-- Whether a request with one of these keys is known, so that claim_idempotency_key would not find
-- it free. False without a key.
create or replace function is_idempotency_key_known(
  p_client_id text,
  p_key_hashes bytea[]
) returns boolean
language plpgsql
as $function$
declare
  v_since timestamptz := clock_timestamp() - interval '24 hours';
begin
  return p_key_hashes is not null and exists (
    select
    from idempotency_record as record
    where record.client_id = p_client_id and record.key_hash = any (p_key_hashes)
      and record.created_at >= v_since
  );
end
$function$;
