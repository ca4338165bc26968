-- Tables of a sandbox only: snapshots, to which it can be restored, and virtual chips. In
-- production they are empty: the functions that write snapshots refuse it, and no route leads to
-- virtual chips.

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

-- The virtual chips of cards, which do what the chip of a card does.
create table virtual_chip (
  public_token text primary key references card,
  -- Replaced with each change, so that two transactions never go on from one state.
  state_id uuid not null,
  pan_sequence_number text not null check (pan_sequence_number ~ '^[0-9]{2}$'),
  -- The version of the keys that the chip was made with, and the index that named it then.
  key_version integer not null check (key_version > 0),
  derivation_key_index integer not null check (derivation_key_index between 0 and 255),
  -- The counter of its last transaction.
  atc integer not null default 0 check (atc between 0 and 65535),
  offline_try_limit integer not null check (offline_try_limit between 1 and 15),
  remaining_offline_tries integer not null
    check (remaining_offline_tries between 0 and offline_try_limit),
  -- The PIN in the chip: that of the card when the chip was made, or of a later command.
  pin_block bytea,
  pvv text check (pvv ~ '^[0-9]{4}$'),
  pin_key text not null,
  is_application_blocked boolean not null default false,
  is_card_blocked boolean not null default false,
  -- The last cryptogram, while it waits for an answer: what it was made over, its unpredictable
  -- number and itself.
  cryptogram_data bytea,
  unpredictable_number bytea,
  cryptogram bytea,
  -- No right answer came to the last cryptogram, so the results are those of an answer before.
  is_online_incomplete boolean not null default false,
  -- The results of the last answer's commands, in the form of tag 9F5B.
  command_results bytea not null default '',
  -- How many executed ones of them the chip counts in its verification results.
  counted_commands integer not null default 0 check (counted_commands >= 0),
  -- The values of data objects that commands put, in hexadecimal digits, by tag.
  data_objects jsonb not null default '{}' check (jsonb_typeof(data_objects) = 'object'),
  check ((pin_block is null) <> (pvv is null)),
  check ((cryptogram is null) = (cryptogram_data is null)),
  check ((cryptogram is null) = (unpredictable_number is null))
);
