-- Checks of the database against the audit log. A row that was changed by hand has no entry.

-- The state of each card by its entries, and the result of the last check.
create table card_digest (
  public_token text primary key,
  -- The last of the card's events that is entered, and for each group of columns the last event
  -- that may have changed it.
  entered_sequence integer not null default 0,
  changed_at integer[] not null default '{}',
  -- A digest of each group, and the event that the digests belong to.
  digests bytea[] not null default '{}',
  digested_sequence integer not null default 0,
  -- An event that the card had at the check, and that was not entered yet.
  awaited_sequence integer
);

create index card_digest_awaited on card_digest (public_token)
  where awaited_sequence is not null;

-- Digests of clients, products, keys and links, whose changes are numbered acts.
create table row_digest (
  kind text not null,
  row_key text not null,
  digest bytea not null,
  primary key (kind, row_key)
);

-- The position up to which entries are followed, and the progress of a check.
create table audit_check (
  only_row boolean primary key default true check (only_row),
  followed_log integer not null default 1,
  followed_index bigint not null default 0,
  -- Whether every card was checked once: the first check accepts the current state as correct.
  has_baseline boolean not null default false,
  started_at timestamptz,
  finished_at timestamptz,
  after_token text not null default '',
  cards bigint not null default 0,
  findings bigint not null default 0,
  -- Folds over the stored card digests and the present ones, in the order of the tokens.
  kept_fold bytea not null default '',
  new_fold bytea not null default '',
  -- The act that reports the last check, the fold that it states, and the number of the first act
  -- after which rows may differ.
  digested_act uuid,
  digested_fold bytea not null default '',
  acts_number bigint not null default 0,
  -- The fold over row_digest at the last check.
  rows_fold bytea not null default '',
  -- A signature over all columns by the key of the audit log. An attacker with write access to the
  -- database cannot forge it.
  state_signature bytea
);

insert into audit_check default values;
