-- Deletes some of the requests that were claimed more than 24 hours ago, which frees their keys.
--
-- The list is materialized and joined row by row, so that no plan reads more than its rows.
--
-- Returns how many rows were deleted.
create or replace function delete_old_idempotency_records(p_limit integer) returns integer
language plpgsql
as $function$
declare
  v_count integer;
begin
  with old as materialized (
    select client_id, key_hash
    from idempotency_record
    where created_at < (select now() - interval '24 hours')
    order by created_at
    limit p_limit
  )
  delete from idempotency_record
  using old
  where idempotency_record.client_id = any(array[old.client_id])
    and idempotency_record.key_hash between old.key_hash and old.key_hash
    and now() - created_at > interval '24 hours';
  get diagnostics v_count = row_count;
  return v_count;
end
$function$;
