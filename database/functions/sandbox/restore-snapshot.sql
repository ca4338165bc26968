-- Restores the sandbox to a snapshot. The caller has entered in the audit log everything that is to
-- be entered, records the act in the same transaction, and lets no call run meanwhile.
--
-- Tables are locked against changes, in the order of their names, so that a change in progress ends
-- before. Only tables whose rows differ are written: first rows that are not in the snapshot are
-- deleted, referencing tables first; then the others are written, referenced tables first.
--
-- Returns restored; missing, if there is no such snapshot; other_keys, if the snapshot may need
-- keys that are gone; other_schema, if its tables had other columns.
create or replace function restore_snapshot(p_snapshot_name text) returns text
language plpgsql
set timezone = 'UTC'
as $function$
declare
  v_snapshot record;
  v_tables jsonb;
  v_names text;
  v_digest text;
  v_table record;
  v_changed text[] := '{}';
  v_is_same boolean;
begin
  if not exists (select from installation where kind = 'sandbox') then
    raise exception 'Only a sandbox has snapshots.';
  end if;
  select * into v_snapshot from sandbox_snapshot where snapshot_name = p_snapshot_name;
  if not found then
    return 'missing';
  end if;
  if v_snapshot.master_key_check_value <> (select master_key_check_value from installation)
    or exists (
      select from unnest(v_snapshot.key_versions) as needed
      where needed not in (select key_name || '/' || key_version from hsm_key)
    )
  then
    return 'other_keys';
  end if;
  -- Listed once: the catalog takes longer than the rows of a small sandbox.
  select jsonb_agg(to_jsonb(listed)),
    string_agg(format('%I', table_name), ', ' order by table_name),
    md5(string_agg(table_name || ' ' || column_names, E'\n' order by table_name))
  into v_tables, v_names, v_digest
  from list_snapshot_tables() as listed;
  if v_snapshot.schema_digest <> v_digest then
    return 'other_schema';
  end if;
  execute 'lock table ' || v_names || ' in share row exclusive mode';
  for v_table in
    select *
    from jsonb_to_recordset(v_tables) as listed (
      table_name text, table_rank integer, key_values text
    )
    order by table_rank desc, table_name
  loop
    execute format(
      'select (count(*), coalesce(sum(hashtextextended(stored::text, 0)), 0)) = (
        select row_count, row_sum
        from sandbox_snapshot_table
        where snapshot_name = $1 and table_name = $2
      )
      from %I as stored',
      v_table.table_name
    ) into v_is_same using p_snapshot_name, v_table.table_name;
    continue when v_is_same;
    v_changed := array_append(v_changed, v_table.table_name);
    execute format(
      'delete from %I as stored
      where not exists (
        select from sandbox_snapshot_row as kept
        where kept.snapshot_name = $1 and kept.table_name = $2
          and kept.row_key = jsonb_build_array(%s)
      )',
      v_table.table_name, v_table.key_values
    ) using p_snapshot_name, v_table.table_name;
  end loop;
  for v_table in
    select *
    from jsonb_to_recordset(v_tables) as listed (
      table_name text, table_rank integer, key_values text, key_columns text, column_names text,
      row_values text, changes text
    )
    where table_name = any (v_changed)
    order by table_rank, table_name
  loop
    execute format(
      'insert into %1$I (%2$s)
      select %3$s
      from sandbox_snapshot_row as kept
      cross join lateral jsonb_populate_record(null::%1$I, kept.content) as stored
      where kept.snapshot_name = $1 and kept.table_name = $2
        and not exists (
          select from %1$I as present
          where (%4$s) = (%5$s) and to_jsonb(present) = kept.content
        )
      on conflict (%6$s) do update set %7$s',
      v_table.table_name, v_table.column_names, v_table.row_values,
      replace(v_table.key_values, 'stored.', 'present.'), v_table.key_values,
      v_table.key_columns, v_table.changes
    ) using p_snapshot_name, v_table.table_name;
  end loop;
  return 'restored';
end
$function$;
