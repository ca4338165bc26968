-- Whether a request with one of these keys is known, so that claim_idempotency_key would not find
-- it free. False without a key.
create or replace function is_idempotency_key_known(
  p_client_id text,
  p_key_hashes bytea[]
) returns boolean
language plpgsql
as $function$
declare
  v_key_hash bytea;
  v_created_at timestamptz;
begin
  foreach v_key_hash in array coalesce(p_key_hashes, '{}') loop
    select record.created_at into v_created_at
    from idempotency_record as record
    where record.client_id = p_client_id and record.key_hash = v_key_hash;
    if v_created_at >= clock_timestamp() - interval '24 hours' then
      return true;
    end if;
  end loop;
  return false;
end
$function$;
