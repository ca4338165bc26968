-- The life of keys: pending until every process knows them, active while something is or may be under
-- them, retired once nothing is.
alter table hsm_key
  -- When the version becomes active by itself; null while nobody has asked for it.
  add column activates_at timestamptz,
  add column activated_at timestamptz,
  add column retired_at timestamptz;
update hsm_key set activated_at = created_at where state = 'active';

-- A PAN is taken under every version of the fingerprints' key that cards are found by.
alter table pan_fingerprint add column key_version integer not null default 1 check (key_version > 0);
create index pan_fingerprint_by_version on pan_fingerprint (key_version);

-- One walk through everything that is under older versions of a key. Whoever holds the lease walks,
-- and leaves behind where it stopped.
create table key_pass (
  key_name text not null,
  key_version integer not null,
  -- What is walked through now, and after which of its rows to go on.
  holding text not null default '',
  position text not null default '',
  -- Rounds over everything: the last one is the first that begins late enough and finds nothing left.
  round integer not null default 1 check (round > 0),
  round_started_at timestamptz not null default now(),
  walked bigint not null default 0,
  moved bigint not null default 0,
  left_in_round bigint not null default 0,
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  holder text,
  leased_until timestamptz not null default '-infinity',
  primary key (key_name, key_version),
  foreign key (key_name, key_version) references hsm_key on delete cascade
);

alter table zone_key
  add column created_at timestamptz not null default now(),
  add column retired_at timestamptz;

-- Keys that other keys travel under, between this installation and another (X9.143, usage K1).
create table zone_master_key (
  key_name text primary key check (key_name ~ '^[a-z0-9][a-z0-9-]{0,31}$'),
  key_block text not null,
  key_check_value text not null,
  created_at timestamptz not null default now(),
  retired_at timestamptz
);

-- A key that several people bring, each a component. Components lie here enciphered under the master
-- key until the last one is there, or until it is too late.
create table component_entry (
  entry_id uuid primary key default gen_random_uuid(),
  -- What the combined key is to become.
  target text not null,
  algorithm text not null,
  length_bytes integer not null check (length_bytes in (16, 24, 32)),
  component_count integer not null check (component_count between 2 and 3),
  key_check_value text not null,
  opened_by text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create table key_component (
  entry_id uuid not null references component_entry on delete cascade,
  component_number integer not null check (component_number between 1 and 3),
  person text not null,
  client_id text not null,
  key_block text not null,
  key_check_value text not null,
  entered_at timestamptz not null default now(),
  primary key (entry_id, component_number),
  unique (entry_id, person)
);

-- For a pass: the few events that have a note.
create index event_with_note on event (public_token, sequence) where note is not null;

-- What was done to keys, when and at whose word: nobody's where it was due. Never changed.
create table key_act (
  act_id uuid primary key default gen_random_uuid(),
  acted_at timestamptz not null default now(),
  act text not null,
  key_reference text not null,
  client_id text,
  request_id text
);
create index key_act_by_time on key_act (acted_at desc);
