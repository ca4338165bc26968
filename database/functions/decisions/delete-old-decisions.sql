-- Deletes some of the decisions that are more than p_days days old. One that waits for an answer
-- stays. The list is materialized and joined row by row, so that no plan reads more than its rows.
--
-- Returns how many rows were deleted.
create or replace function delete_old_decisions(p_days integer, p_limit integer) returns integer
language plpgsql
as $function$
declare
  v_count integer;
begin
  with old as materialized (
    select public_token, decision_id
    from decision
    where asked_at < (select date_trunc('day', now(), 'UTC') - make_interval(days => p_days))
      and (purpose <> 'authorize' or concluded_at is not null)
    order by asked_at
    limit p_limit
  )
  delete from decision
  using old
  where decision.public_token = any (array[old.public_token])
    and decision.decision_id between old.decision_id and old.decision_id
    and now() - asked_at > make_interval(days => p_days);
  get diagnostics v_count = row_count;
  return v_count;
end
$function$;
