-- Authorization requests of card networks: the tries that they spent, and how they were answered.

-- Tries that were spent, each recorded when it is spent and unresolved until its result is known.
-- No decision depends on these rows, and old ones are deleted. No foreign key: the statement that
-- writes a row holds its counter's row by its own update, and a foreign key would lock the card's
-- row too, which is a write to another page.
create table attempt (
  public_token text not null,
  kind text not null check (kind in ('pin', 'cvv')),
  -- The value of try_counter.spent after this try: it never repeats.
  try_number integer not null check (try_number > 0),
  epoch integer not null,
  attempted_at timestamptz not null default now(),
  result text not null default 'unresolved'
    check (result in ('unresolved', 'match', 'mismatch')),
  -- Whether the try was restored: by its own match, by a later match, or because the HSM did not
  -- answer.
  restored boolean not null default false,
  remaining_tries integer not null check (remaining_tries >= 0),
  entry_mode text not null,
  reference text not null,
  primary key (public_token, kind, try_number)
)
with (fillfactor = 90);

-- Old rows are deleted day by day. All rows of a day share one value, which the index keeps once,
-- and new rows come last.
create index attempt_by_day on attempt (((attempted_at at time zone 'UTC')::date));

-- Tries that are spent and not yet entered in the audit log, and which request spent them. There
-- are few, and each is gone within a second of its result.
create table attempt_to_enter (
  public_token text not null,
  kind text not null,
  try_number integer not null,
  network_id text not null,
  request_id text not null,
  primary key (public_token, kind, try_number)
);

-- What a card network asked about a card, the result of each check, and the answer. The statement
-- that commits the decision writes the row. No decision depends on these rows, and old ones are
-- deleted. No foreign key, and a row never changes: so each is written at the end of the table.
create table authorization_record (
  public_token text not null,
  -- A version 7 UUID (RFC 9562): a card's ids are in the order of their time.
  authorization_id uuid not null,
  network_id text not null,
  request_id text not null,
  reference text not null,
  entry_mode text not null,
  response_code text not null,
  -- The checks in the order in which they were made, as JSON. Never the value that was checked.
  checks text not null,
  -- Remaining tries of what was compared last, by the counter's own row; null where nothing was.
  remaining_tries integer check (remaining_tries >= 0),
  duration_ms integer not null check (duration_ms >= 0),
  decided_at timestamptz not null default clock_timestamp(),
  primary key (public_token, authorization_id)
);

-- A network's references mostly ascend, and time always does: both indexes are written at their
-- end.
create index authorization_record_by_reference
  on authorization_record (reference, authorization_id);
create index authorization_record_by_time on authorization_record (decided_at, response_code);

-- How many authorization requests were answered with each code in each past minute: a chart costs
-- what it shows. The next count repeats the newest minute, which makes it whole.
create table authorization_count (
  minute timestamptz not null,
  response_code text not null,
  count bigint not null check (count > 0),
  primary key (minute, response_code)
);
