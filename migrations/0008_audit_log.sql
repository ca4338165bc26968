-- Works with programs from migration 0007 on.

-- The audit log (c2sp.org/tlog-tiles), and the logs before it. Whoever appends locks the row of the last one to the end
-- of its transaction.
create table audit_log (
  log integer primary key check (log > 0),
  -- What its checkpoints name it by.
  origin text not null unique,
  began_at timestamptz not null default clock_timestamp(),
  size bigint not null default 0 check (size >= 0),
  -- Of the log before it: the newest checkpoint that was known of it, and why it could not go on.
  predecessor_checkpoint text,
  reason text,
  closed_at timestamptz,
  -- Why no checkpoint is signed, since somebody found out.
  refusal text
);

-- What was entered, in its order. Once it is erased, salt and text are null, and the commitment stays.
create table audit_entry (
  log integer not null references audit_log,
  entry_index bigint not null check (entry_index >= 0),
  entry_id uuid not null,
  -- Whose act it was, and which card's, where it was a client's and a card's.
  client_id text,
  public_token text,
  act text not null,
  entered_at timestamptz not null default clock_timestamp(),
  commitment bytea not null check (length(commitment) = 32),
  salt bytea check (length(salt) = 32),
  text text,
  primary key (log, entry_index),
  unique (log, entry_id),
  check ((salt is null) = (text is null))
);

-- Hashes of the tree: tile N of level L has the roots of 256 complete subtrees. The last of each level grows in place.
create table audit_tile (
  log integer not null references audit_log,
  level smallint not null check (level >= 0),
  tile_index bigint not null check (tile_index >= 0),
  hashes bytea not null check (length(hashes) between 32 and 8192 and length(hashes) % 32 = 0),
  primary key (log, level, tile_index)
);

-- What was signed: of the last day all, before that one an hour, and always the newest.
create table audit_checkpoint (
  log integer not null references audit_log,
  size bigint not null check (size > 0),
  root bytea not null check (length(root) = 32),
  -- The signed note with its cosignatures.
  note text not null,
  signed_at timestamptz not null default clock_timestamp(),
  primary key (log, size)
);
