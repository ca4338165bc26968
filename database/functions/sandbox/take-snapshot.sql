-- Takes a snapshot of the sandbox, and replaces one of the same name. The caller has entered in
-- the audit log everything that is to be entered.
--
-- p_clock is the instant that the sandbox's clock shows; null if it was never moved.
--
-- Each row is stored as JSON, which keeps every value of the schema's types exactly.
--
-- Returns the number of rows.
create or replace function take_snapshot(p_snapshot_name text, p_clock timestamptz) returns bigint
language plpgsql
set timezone = 'UTC'
as $function$
declare
  v_table record;
  v_rows bigint := 0;
begin
  if not exists (select from installation where kind = 'sandbox') then
    raise exception 'Only a sandbox has snapshots.';
  end if;
  delete from sandbox_snapshot where snapshot_name = p_snapshot_name;
  insert into sandbox_snapshot (
    snapshot_name, clock, key_versions, master_key_check_value, schema_digest
  )
  select p_snapshot_name, p_clock,
    array(select key_name || '/' || key_version from hsm_key order by key_name, key_version),
    installation.master_key_check_value,
    (
      select md5(string_agg(table_name || ' ' || column_names, E'\n' order by table_name))
      from list_snapshot_tables()
    )
  from installation;
  for v_table in select * from list_snapshot_tables() loop
    execute format(
      'insert into sandbox_snapshot_table (snapshot_name, table_name, row_count, row_sum)
      select $1, $2, count(*), coalesce(sum(hashtextextended(stored::text, 0)), 0)
      from %I as stored',
      v_table.table_name
    ) using p_snapshot_name, v_table.table_name;
    execute format(
      'insert into sandbox_snapshot_row (snapshot_name, table_name, row_key, content)
      select $1, $2, jsonb_build_array(%s), to_jsonb(stored)
      from %I as stored',
      v_table.key_values, v_table.table_name
    ) using p_snapshot_name, v_table.table_name;
  end loop;
  select sum(row_count) into v_rows
  from sandbox_snapshot_table
  where snapshot_name = p_snapshot_name;
  return v_rows;
end
$function$;
