-- The current audit log (c2sp.org/tlog-tiles) and its predecessors.

-- An append locks the row of the last log to the end of its transaction.
create table audit_log (
  log integer primary key check (log > 0),
  -- The name of the log in its checkpoints.
  origin text not null unique,
  began_at timestamptz not null default clock_timestamp(),
  size bigint not null default 0 check (size >= 0),
  -- The newest known checkpoint of the previous log, and why that log could not continue.
  predecessor_checkpoint text,
  reason text,
  closed_at timestamptz,
  -- Why no checkpoint is signed; null while checkpoints are signed.
  refusal text
);

-- Entries in their order. Erasure sets salt and text to null and leaves the commitment. No foreign
-- key: it would look for the log once for each entry of a batch, whose statement holds it locked.
create table audit_entry (
  log integer not null,
  entry_index bigint not null check (entry_index >= 0),
  entry_id uuid not null,
  -- The client that acted, and the card concerned, if any.
  client_id text,
  public_token text,
  act text not null,
  -- Whether an operator or an administrator acted: a person, or a client of kind admin.
  by_operator boolean not null default false,
  entered_at timestamptz not null default clock_timestamp(),
  commitment bytea not null check (length(commitment) = 32),
  salt bytea check (length(salt) = 32),
  text text,
  primary key (log, entry_index),
  unique (log, entry_id),
  check ((salt is null) = (text is null))
);

-- Disclosures, newest first: all, by card, and by client. Few entries are disclosures, and the
-- other entries are in none of these indexes.
create index audit_entry_disclosure on audit_entry (log, entry_index)
  where act in ('pin.revealed', 'card_data.revealed', 'cardholder.revealed');
create index audit_entry_disclosure_of_card on audit_entry (public_token, log, entry_index)
  where act in ('pin.revealed', 'card_data.revealed', 'cardholder.revealed');
create index audit_entry_disclosure_of_client on audit_entry (client_id, log, entry_index)
  where act in ('pin.revealed', 'card_data.revealed', 'cardholder.revealed');

-- Entries of operators by the time of their entry: all, and by person, act and card. Few entries
-- are of operators, and the other entries are in none of these indexes.
create index audit_entry_of_operators on audit_entry (entered_at, log, entry_index)
  where by_operator;
create index audit_entry_of_operator on audit_entry (client_id, entered_at, log, entry_index)
  where by_operator;
create index audit_entry_of_operator_act on audit_entry (act, entered_at, log, entry_index)
  where by_operator;
create index audit_entry_of_act_of_operator
  on audit_entry (client_id, act, entered_at, log, entry_index)
  where by_operator;
create index audit_entry_of_operator_card
  on audit_entry (public_token, entered_at, log, entry_index)
  where by_operator and public_token is not null;

-- Hashes of the tree: tile N of level L has the roots of 256 complete subtrees. The last tile of
-- each level grows in place.
create table audit_tile (
  log integer not null references audit_log,
  level smallint not null check (level >= 0),
  tile_index bigint not null check (tile_index >= 0),
  hashes bytea not null check (length(hashes) between 32 and 8192 and length(hashes) % 32 = 0),
  primary key (log, level, tile_index)
);

-- Hashes cannot be compressed.
alter table audit_tile alter column hashes set storage external;

-- Signed checkpoints: all of the last day, one an hour before that, and always the newest.
create table audit_checkpoint (
  log integer not null references audit_log,
  size bigint not null check (size > 0),
  root bytea not null check (length(root) = 32),
  -- The signed note with its cosignatures.
  note text not null,
  signed_at timestamptz not null default clock_timestamp(),
  primary key (log, size)
);

-- The position up to which each client's feed is entered. Positions of a feed become visible in
-- their order.
create table audit_feed (
  client_id text primary key,
  position bigint not null check (position > 0)
);

-- The position up to which a source is entered: the number of an act; the arrival of an
-- authorization request, in microseconds since 1970.
create table audit_entered (
  source text primary key check (source in ('acts', 'tries')),
  position bigint not null check (position >= 0)
);

insert into audit_entered (source, position) values ('acts', 0), ('tries', 0);
