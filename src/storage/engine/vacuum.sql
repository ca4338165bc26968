-- The upkeep of tables. An embedded database has no autovacuum.

-- name: list_untidy_tables
select format('%I', relname) as "tableName",
  n_dead_tup >= :rowsLeast + n_live_tup / 20 as "hasDeadRows"
from pg_stat_user_tables
where schemaname = current_schema()
  and (
    n_dead_tup >= :rowsLeast + n_live_tup / 20
    or n_mod_since_analyze >= :rowsLeast + n_live_tup / 10
  )
order by n_dead_tup desc;

-- name: measure_log_to_replay
select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), redo_lsn)::float8 as "logBytes"
from pg_control_checkpoint();

-- The last vacuum or analysis of any table, and the table with the most dead rows.
-- name: find_upkeep
select max(vacuumed_at) over () as "lastVacuumAt", table_name as "tableName",
  dead_rows::float8 as "deadRows", live_rows::float8 as "liveRows"
from (
  select relname::text as table_name, n_dead_tup as dead_rows, n_live_tup as live_rows,
    greatest(last_vacuum, last_autovacuum, last_analyze, last_autoanalyze) as vacuumed_at
  from pg_stat_user_tables
  where schemaname = current_schema()
) as stat
order by dead_rows desc, table_name
limit 1;
