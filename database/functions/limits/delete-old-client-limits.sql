-- Deletes some of the rows of client limits whose uses no longer count.
--
-- The list is materialized and joined row by row, so that no plan reads more than its rows.
--
-- Returns how many rows were deleted.
create or replace function delete_old_client_limits(p_limit integer) returns integer
language plpgsql
as $function$
declare
  v_today integer := floor(extract(epoch from clock_timestamp()) / 86400);
  v_count integer;
begin
  with old as materialized (
    select client_id, limit_name
    from client_limit
    where forget_on_day <= (select v_today)
    order by forget_on_day
    limit p_limit
  )
  delete from client_limit
  using old
  where client_limit.client_id = any(array[old.client_id])
    and client_limit.limit_name between old.limit_name and old.limit_name
    and forget_on_day - v_today <= 0;
  get diagnostics v_count = row_count;
  return v_count;
end
$function$;
