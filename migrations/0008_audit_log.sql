-- Works with programs from migration 0006 on.

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

-- What was entered, in its order. Once it is erased, salt and text are null, and the commitment stays. No foreign key: it
-- would look for the log once for each entry of a batch, whose statement has it locked.
create table audit_entry (
  log integer not null,
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
-- Nothing can be made of hashes that is shorter.
alter table audit_tile alter column hashes set storage external;

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

-- Disclosures that were refused or failed, until they are entered: those of one minute that say the same, together.
create table refused_disclosure (
  -- Under which they are entered.
  entry_id uuid primary key default gen_random_uuid(),
  minute timestamptz not null,
  client_id text not null,
  -- As it was asked for, whether or not the client has such a card; null where it can be no card's token, or the client
  -- asked for too many within the minute to name each.
  public_token text check (public_token ~ '^[1-9][0-9]{9}$'),
  act text not null check (act in ('pin.revealed', 'card_data.revealed')),
  includes_pin boolean not null,
  -- The thumbprint of the key that it was to be sealed to (RFC 7638), where there was one.
  device text check (length(device) = 43),
  outcome text not null check (outcome in ('refused', 'failed')),
  -- The code of the problem.
  reason text not null,
  count bigint not null check (count > 0),
  first_at timestamptz not null,
  last_at timestamptz not null,
  -- Of the first of them.
  request_id text not null,
  unique nulls not distinct (client_id, minute, public_token, act, includes_pin, device, outcome, reason)
);
create index refused_disclosure_by_minute on refused_disclosure (minute, entry_id);

-- Acts that nobody asked for, and what they are on: a process, a setting that it runs with, the log itself.
alter table audit_act drop constraint if exists audit_act_subject_kind_check;
alter table audit_act drop constraint if exists audit_act_check;
alter table audit_act add constraint audit_act_subject_kind_check
  check (subject_kind in ('product', 'client', 'key', 'process', 'setting', 'log'));
alter table audit_act add constraint audit_act_somebody_check
  check (client_id is not null or subject_kind in ('key', 'client', 'process', 'setting', 'log'));

-- What is to be erased of the log: the entries of a card, of a client, or those that are old. The log is gone through from its
-- beginning, once for each; what is old goes on being looked for.
create table audit_erasure (
  erasure_id uuid primary key default gen_random_uuid(),
  kind text not null check (kind in ('card', 'client', 'age')),
  -- Whose entries; null once they are erased, and of what is old.
  subject text,
  reason text not null,
  requested_at timestamptz not null default clock_timestamp(),
  -- From which entry on it goes on.
  log integer not null default 1,
  next_index bigint not null default 0 check (next_index >= 0),
  -- An act names entries before they are erased; they are when that act is under a checkpoint.
  pending_act uuid,
  pending_log integer,
  pending_from bigint[] not null default '{}',
  pending_to bigint[] not null default '{}',
  erased bigint not null default 0,
  finished_at timestamptz,
  check ((pending_act is null) = (pending_log is null)),
  check (cardinality(pending_from) = cardinality(pending_to))
);
create unique index audit_erasure_of_age on audit_erasure (kind) where kind = 'age';
create index audit_erasure_unfinished on audit_erasure (requested_at) where finished_at is null;

-- How far each client's feed is entered. A feed's positions become visible in their order.
create table audit_feed (
  client_id text primary key,
  position bigint not null check (position > 0)
);

-- Which request an event is of, for its entry.
alter table published_event add column request_id text;

-- Tries that are spent and not entered yet, and who asked: mostly few, and gone within a second of their result.
create table attempt_to_enter (
  public_token text not null,
  kind text not null,
  try_number integer not null,
  network_id text not null,
  request_id text not null,
  primary key (public_token, kind, try_number)
);

-- Acts on keys and of administration are numbered without gaps: whoever puts one on record has the row to the end of his
-- transaction, so that numbers become visible in their order, and one that is missing shows.
create table audit_act_number (
  only_row boolean primary key default true check (only_row),
  last_number bigint not null
);
insert into audit_act_number (last_number) values (0);
create function next_audit_act_number() returns bigint language sql volatile
  as 'update audit_act_number set last_number = last_number + 1 returning last_number';
alter table audit_act add column number bigint not null default next_audit_act_number();
create unique index audit_act_by_number on audit_act (number);

-- How far the numbered acts are entered.
create table audit_entered (
  source text primary key check (source in ('acts')),
  position bigint not null check (position >= 0)
);
insert into audit_entered (source, position) values ('acts', 0);

-- What is known of each card by its entries, and how it was found by the last check: whoever changes a row by hand makes no entry.
create table card_digest (
  public_token text primary key,
  -- The last of its events that is entered, and of each group of columns the last that may have changed it.
  entered_sequence integer not null default 0,
  changed_at integer[] not null default '{}',
  -- A digest of each group, and of which of its events.
  digests bytea[] not null default '{}',
  digested_sequence integer not null default 0,
  -- An event that the card had when it was checked, and that was not entered yet.
  awaited_sequence integer
);
create index card_digest_awaited on card_digest (public_token) where awaited_sequence is not null;

-- The same of clients, products, keys and links, whose changes are numbered acts.
create table row_digest (
  kind text not null,
  row_key text not null,
  digest bytea not null,
  primary key (kind, row_key)
);

-- How far entries are followed, and how far a check has come.
create table audit_check (
  only_row boolean primary key default true check (only_row),
  followed_log integer not null default 1,
  followed_index bigint not null default 0,
  -- Whether every card was met once: what is found at that time is taken as it is.
  has_baseline boolean not null default false,
  started_at timestamptz,
  finished_at timestamptz,
  after_token text not null default '',
  cards bigint not null default 0,
  findings bigint not null default 0,
  -- Over the digests as they were kept, and as they are now, in the order of the tokens.
  kept_fold bytea not null default '',
  new_fold bytea not null default '',
  -- The act that says what came of the last check, the fold that it says, and the number of acts from which on rows may differ.
  digested_act uuid,
  digested_fold bytea not null default '',
  acts_number bigint not null default 0
);
insert into audit_check default values;
