-- The facts that a database stores about its installation, and facts about the server.

-- name: insert_installation
insert into installation (kind, master_key_check_value)
values (:kind, :masterKeyCheckValue)
on conflict (singleton) do nothing;

-- name: find_installation
select kind, master_key_check_value as "masterKeyCheckValue"
from installation;

-- A role without any privileges sees no table.
-- name: has_installation_table
select coalesce(has_table_privilege(to_regclass('installation'), 'SELECT'), false) as "isThere";

-- name: find_master_key_check_value
select master_key_check_value as "checkValue"
from installation;

-- name: lock_installation
select master_key_check_value as "checkValue"
from installation
for update;

-- name: set_master_key_check_value
update installation
set master_key_check_value = :checkValue;

-- name: find_clock_ahead
select clock_ahead_ms::float8 as "aheadMs"
from installation;

-- name: set_clock_ahead
update installation
set clock_ahead_ms = :aheadMs;

-- name: ping
select current_setting('transaction_read_only') = 'off' as "takesChanges";

-- name: examine_database
select current_setting('server_version_num')::integer as "versionNumber",
  current_setting('server_encoding') as "encoding", clock_timestamp() as "clock",
  current_setting('fsync') as "fsync", current_setting('full_page_writes') as "fullPageWrites",
  current_setting('synchronous_commit') as "synchronousCommit",
  current_setting('synchronous_standby_names') as "synchronousStandbys",
  pg_is_in_recovery() as "isStandby",
  current_setting('transaction_read_only') = 'on' as "isReadOnly",
  current_setting('session_replication_role') as "replicationRole",
  current_schema() as "schemaName",
  coalesce(has_schema_privilege(current_user, current_schema(), 'CREATE'), false) as "mayCreate";

-- name: has_migration_table
select coalesce(has_table_privilege(to_regclass('migration'), 'SELECT'), false) as "isThere";

-- `worksFrom` is the newest migration that a program must know to work with the schema. The oldest
-- databases have no such column. They are rejected by the names of their migrations.
-- name: find_newest_migration
select max(migration_number) as "newestMigration",
  (array_agg(file_name order by migration_number))[1] as "firstFileName",
  max(coalesce((to_jsonb(migration) ->> 'works_from')::integer, migration_number)) as "worksFrom"
from migration;

-- name: insert_sandbox_secret
insert into sandbox_secret (secret_name, sealed)
values (:secretName, :sealed)
on conflict (secret_name) do nothing;

-- name: find_sandbox_secret
select sealed
from sandbox_secret
where secret_name = :secretName;
