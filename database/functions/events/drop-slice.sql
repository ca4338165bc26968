-- Drops a slice of event or published_event with all events in it.
--
-- The last day of the slice must have passed. A slice with an unpublished event stays. The caller
-- has checked that the events of a slice of published_event are delivered and in the audit log.
--
-- The call waits for an exclusive lock on the whole table, and gives up after p_wait_ms (SQLSTATE
-- 55P03).
--
-- Returns whether the slice was dropped.
create or replace function drop_slice(
  p_table text,
  p_from_day integer,
  p_until_day integer,
  p_wait_ms integer
) returns boolean
language plpgsql
as $function$
declare
  v_from timestamptz := to_timestamp(p_from_day * 86400.0);
  v_until timestamptz := to_timestamp(p_until_day * 86400.0);
begin
  if p_table not in ('event', 'published_event') then
    raise exception 'The table % has no slices.', p_table;
  end if;
  if v_until > clock_timestamp() then
    raise exception 'The slice of % from day % is not over yet.', p_table, p_from_day;
  end if;
  perform set_config('lock_timeout', p_wait_ms || 'ms', true);
  execute format('lock table %I in access exclusive mode', p_table);
  -- A cluster that asks all shards requires a column here.
  if exists (
    select 1
    from event
    where not published and occurred_at >= v_from and occurred_at < v_until
  )
  then
    return false;
  end if;
  execute format(
    'drop table %I', p_table || to_char(v_from at time zone 'UTC', '_YYYYMMDD')
  );
  return true;
end
$function$;
