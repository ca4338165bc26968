-- Deletes some of the published events of the outbox that happened more than p_days days ago and
-- that are in no slice. drop_slice deletes the events of a slice.
--
-- The list is materialized and joined row by row, so that no plan reads more than its rows.
--
-- Returns how many events were deleted.
create or replace function delete_old_outbox_events(
  p_days integer,
  p_limit integer
) returns integer
language plpgsql
as $function$
declare
  v_count integer;
begin
  with old as materialized (
    select occurred_at, public_token, sequence
    from event_default
    where published and occurred_at < (select now() - make_interval(days => p_days))
    order by occurred_at
    limit p_limit
  )
  delete from event_default
  using old
  where event_default.occurred_at = any(array[old.occurred_at])
    and event_default.public_token between old.public_token and old.public_token
    and event_default.sequence between old.sequence and old.sequence
    and now() - event_default.occurred_at > make_interval(days => p_days);
  get diagnostics v_count = row_count;
  return v_count;
end
$function$;
