-- Snapshots of a sandbox, to which it can be restored. Production has none: the functions that
-- write these tables refuse it.

create table sandbox_snapshot (
  snapshot_name text primary key check (snapshot_name ~ '^[a-z][a-z0-9._-]{0,63}$'),
  taken_at timestamptz not null default clock_timestamp(),
  -- The instant that the sandbox's clock showed; null if the clock was never moved.
  clock timestamptz,
  -- The versions of keys that the stored rows may need, and the master key of their key blocks.
  key_versions text[] not null,
  master_key_check_value text not null,
  -- Of the tables and their columns: rows of another schema do not fit.
  schema_digest text not null
);

-- The number of rows of a table, and a sum over their texts: a table that still has both is not
-- read row by row.
create table sandbox_snapshot_table (
  snapshot_name text not null references sandbox_snapshot on delete cascade,
  table_name text not null,
  row_count bigint not null,
  row_sum numeric not null,
  primary key (snapshot_name, table_name)
);

create table sandbox_snapshot_row (
  snapshot_name text not null references sandbox_snapshot on delete cascade,
  table_name text not null,
  -- The values of the primary key, as a list.
  row_key jsonb not null,
  content jsonb not null,
  primary key (snapshot_name, table_name, row_key)
);
