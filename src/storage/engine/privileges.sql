-- The roles of a database, and their privileges (database/privileges.sql).

-- name: examine_role
select current_user::text as "role", current_database()::text as "databaseName",
  current_schema()::text as "schemaName", pg_postmaster_start_time() as "startedAt",
  (
    select pg_get_userbyid(relowner)::text
    from pg_class
    where oid = to_regclass('migration')
  ) as "owner",
  coalesce((
    select pg_has_role(relowner, 'MEMBER')
    from pg_class
    where oid = to_regclass('migration')
  ), false) as "actsAsOwner",
  array(
    select relname::text
    from pg_class
    where relnamespace = current_schema()::regnamespace
      and relname = any (:protectedTables::text[])
      and (
        has_table_privilege(oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
        or exists (
          select
          from pg_attribute
          where attrelid = pg_class.oid and attnum > 0 and not attisdropped and attgenerated = ''
            and has_column_privilege(pg_class.oid, attnum, 'INSERT, UPDATE')
        )
      )
    order by relname
  ) as "writableTables";
