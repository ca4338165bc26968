-- Deletes some of the rows of card limits whose uses no longer count.
--
-- The list is materialized and joined row by row, so that no plan reads more than its rows.
--
-- Returns how many rows were deleted.
create or replace function delete_old_card_limits(p_limit integer) returns integer
language plpgsql
as $function$
declare
  v_today integer := floor(extract(epoch from clock_timestamp()) / 86400);
  v_count integer;
begin
  with old as materialized (
    select public_token, limit_name
    from card_limit
    where forget_on_day <= (select v_today)
    order by forget_on_day
    limit p_limit
  )
  delete from card_limit
  using old
  where card_limit.public_token = any(array[old.public_token])
    and card_limit.limit_name between old.limit_name and old.limit_name
    and forget_on_day - v_today <= 0;
  get diagnostics v_count = row_count;
  return v_count;
end
$function$;
