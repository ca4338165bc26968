-- The migrations of a database.

-- name: lock_migrations
lock table migration in access exclusive mode;

-- The oldest databases have no column `works_from`. They are rejected by the names of their
-- migrations.
-- name: list_applied_migrations
select migration_number as "number", file_name as "fileName",
  coalesce((to_jsonb(migration) ->> 'works_from')::integer, migration_number) as "worksFrom"
from migration
order by migration_number;

-- name: record_migration
insert into migration (migration_number, file_name, works_from)
values (:number, :fileName, :worksFrom);
