-- Deletes up to a number of counts of mistakes whose window has passed.
--
-- The list is materialized and joined row by row, so that no plan reads more than its rows.
--
-- Returns how many rows were deleted.
create or replace function delete_old_mistakes(p_limit integer) returns integer
language plpgsql
as $function$
declare
  v_today integer := floor(extract(epoch from clock_timestamp()) / 86400);
  v_count integer;
begin
  with old as materialized (
    select public_token, client_id
    from card_mistake
    where forget_on_day <= (select v_today)
    order by forget_on_day
    limit p_limit
  )
  delete from card_mistake
  using old
  where card_mistake.public_token = any(array[old.public_token])
    and card_mistake.client_id between old.client_id and old.client_id
    and forget_on_day - v_today <= 0;
  get diagnostics v_count = row_count;
  return v_count;
end
$function$;
