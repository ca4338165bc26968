-- The tables of an embedded database, which has no autovacuum.

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

-- name: find_last_vacuum
select max(greatest(last_vacuum, last_analyze)) as "lastVacuumAt"
from pg_stat_user_tables
where schemaname = current_schema();
