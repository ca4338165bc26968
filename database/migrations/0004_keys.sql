-- Keys, each as a key block under the master key. Without the master key nothing here is usable.

-- A version is pending until every process knows it, active while data is or may be under it, and
-- retired once no data is.
create table hsm_key (
  key_name text not null,
  key_version integer not null check (key_version > 0),
  state text not null check (state in ('pending', 'active', 'retired')),
  key_block text not null,
  key_check_value text not null,
  -- The clock, not the start of the transaction, which may have waited: a version is pending from
  -- the moment at which it exists.
  created_at timestamptz not null default clock_timestamp(),
  -- When the version becomes active automatically; null if it is not scheduled.
  activates_at timestamptz,
  activated_at timestamptz,
  retired_at timestamptz,
  -- A cryptoperiod ends by use as well as by age.
  uses bigint not null default 0 check (uses >= 0),
  primary key (key_name, key_version)
);

-- The highest version number that each key ever had. A number is never used twice, because devices
-- remember a key by its number.
create table hsm_key_number (
  key_name text primary key,
  last_version integer not null check (last_version > 0)
);

-- One re-encryption of all data under older versions of a key. The holder of the lease continues
-- it and records where it stopped.
create table re_encryption (
  key_name text not null,
  key_version integer not null,
  -- The column that is re-encrypted now, and the row after which to continue.
  column_name text not null default '',
  position text not null default '',
  -- The rounds over all data. The last round is the first one that begins late enough and finds
  -- nothing left.
  round integer not null default 1 check (round > 0),
  round_started_at timestamptz not null default now(),
  examined bigint not null default 0,
  re_encrypted bigint not null default 0,
  remaining_in_round bigint not null default 0,
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  holder text,
  leased_until timestamptz not null default '-infinity',
  primary key (key_name, key_version),
  foreign key (key_name, key_version) references hsm_key on delete cascade
);

-- A card network's keys for PIN blocks.
create table zone_key (
  client_id text not null references client,
  key_name text not null check (key_name ~ '^[a-z0-9][a-z0-9-]{0,31}$'),
  algorithm text not null check (algorithm in ('TDES', 'AES')),
  pin_block_formats text[] not null,
  key_block text not null,
  key_check_value text not null,
  created_at timestamptz not null default now(),
  retired_at timestamptz,
  primary key (client_id, key_name)
);

-- Keys under which this installation and another exchange other keys (X9.143, usage K1).
create table zone_master_key (
  key_name text primary key check (key_name ~ '^[a-z0-9][a-z0-9-]{0,31}$'),
  key_block text not null,
  key_check_value text not null,
  created_at timestamptz not null default now(),
  retired_at timestamptz
);

-- A key that several people enter in components. The components are stored enciphered under the
-- master key until the last one arrives or the entry expires.
create table component_entry (
  entry_id uuid primary key default gen_random_uuid(),
  -- The purpose of the combined key.
  target text not null,
  algorithm text not null,
  length_bytes integer not null check (length_bytes in (16, 24, 32)),
  component_count integer not null check (component_count between 2 and 3),
  key_check_value text not null,
  opened_by text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);

create index component_entry_by_expiry on component_entry (expires_at, entry_id);

create table key_component (
  entry_id uuid not null references component_entry on delete cascade,
  component_number integer not null check (component_number between 1 and 3),
  person text not null,
  client_id text not null,
  -- Everyone who could act as this person when the component was entered.
  controlled_by text[] not null,
  key_block text not null,
  key_check_value text not null,
  entered_at timestamptz not null default now(),
  primary key (entry_id, component_number),
  unique (entry_id, person)
);
