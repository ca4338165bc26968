-- Makes a slice of event or published_event: the partition for the days from p_from_day to before
-- p_until_day (since 1970, UTC), unless it exists.
--
-- The call waits for an exclusive lock on the whole table, and other transactions wait behind it.
-- So it gives up after p_wait_ms (SQLSTATE 55P03). If two processes make the same slice, the second
-- finds it.
--
-- Returns whether the slice exists. It is not made if the default partition has rows of its days.
create or replace function make_slice(
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
  perform set_config('lock_timeout', p_wait_ms || 'ms', true);
  execute format('lock table %I in access exclusive mode', p_table);
  execute format(
    'create table if not exists %I partition of %I for values from (%L) to (%L)',
    p_table || to_char(v_from at time zone 'UTC', '_YYYYMMDD'), p_table, v_from, v_until
  );
  return true;
exception
  when check_violation then
    return false;
end
$function$;
