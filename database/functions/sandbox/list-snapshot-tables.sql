-- Lists the tables that a snapshot of the sandbox contains, with the parts of SQL that take and
-- restore their rows. A table that is not named below belongs to every snapshot.
--
-- Never rewound are the audit log with its sources and checks, keys and their ceremonies, what
-- belongs to processes and people, and used one-time values of clients. The head of each feed is
-- not rewound either: its positions are not used twice, so that no reader misses an event.
--
-- Parts of partitioned tables are read and written through their table. Generated columns are not
-- written. A table has a higher rank than the tables that it references.
create or replace function list_snapshot_tables() returns table (
  table_name text,
  table_rank integer,
  key_values text,
  key_columns text,
  column_names text,
  row_values text,
  changes text
)
language plpgsql
as $function$
declare
  v_kept constant text[] := array[
    'approval',
    'card_digest',
    'client_assertion',
    'client_stream',
    'component_entry',
    'console_session',
    'feed_head',
    'hsm_key',
    'hsm_key_number',
    'installation',
    'installed_function',
    'key_component',
    'lease',
    'link_process',
    'link_session',
    'migration',
    'person',
    're_encryption',
    'refused_disclosure',
    'row_digest',
    'sandbox_secret',
    'sandbox_snapshot',
    'sandbox_snapshot_row',
    'sandbox_snapshot_table'
  ];
begin
  return query
    with recursive rewound as (
      select pg_class.oid, relname::text as name
      from pg_class
      where relnamespace = current_schema()::regnamespace
        and relkind in ('r', 'p') and not relispartition
        and relname <> all (v_kept) and relname not like 'audit\_%'
    ), ranked as (
      select rewound.oid, 0 as rank from rewound
      union
      select conrelid, ranked.rank + 1
      from ranked
      join pg_constraint on confrelid = ranked.oid and contype = 'f' and conrelid <> confrelid
      join rewound on rewound.oid = conrelid
    )
    select rewound.name,
      (select max(ranked.rank) from ranked where ranked.oid = rewound.oid),
      keys.of_values, keys.names, written.names, written.of_values, written.changes
    from rewound
    cross join lateral (
      select string_agg(format('stored.%I', attname), ', ' order by place) as of_values,
        string_agg(format('%I', attname), ', ' order by place) as names
      from pg_index
      cross join lateral unnest(indkey::smallint[]) with ordinality as part (attnum, place)
      join pg_attribute on attrelid = rewound.oid and pg_attribute.attnum = part.attnum
      where indrelid = rewound.oid and indisprimary
    ) as keys
    cross join lateral (
      select string_agg(format('%I', attname), ', ' order by attnum) as names,
        string_agg(format('stored.%I', attname), ', ' order by attnum) as of_values,
        string_agg(format('%1$I = excluded.%1$I', attname), ', ' order by attnum) as changes
      from pg_attribute
      where attrelid = rewound.oid and attnum > 0 and not attisdropped and attgenerated = ''
    ) as written
    order by rewound.name;
end
$function$;
