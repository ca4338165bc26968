-- The installation of this database, and the leases by which its processes take turns.
--
-- Placement: every row that belongs to a card has its public_token and is keyed by it, so that a
-- distributed engine can spread the schema by that one column. A value that must be unique by
-- another column has its own table, keyed by that value. No foreign key crosses cards.

create table installation (
  singleton boolean primary key default true check (singleton),
  kind text not null check (kind in ('sandbox', 'production')),
  master_key_check_value text not null,
  -- How far the clock of a sandbox is ahead of the machine's.
  clock_ahead_ms bigint not null default 0,
  created_at timestamptz not null default now()
);

-- Work that one process at a time does. The clock is the database's.
create table lease (
  lease_name text primary key,
  holder uuid not null,
  leased_until timestamptz not null
);

-- Secrets of the sandbox's demo clients, sealed by the HSM: every process prints the same ones.
create table sandbox_secret (
  secret_name text primary key,
  sealed bytea not null
);
