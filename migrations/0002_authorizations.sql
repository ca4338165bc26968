-- Tries that were spent: each on record from its spend, unresolved until its result is known.
create table attempt (
  public_token text not null references card,
  kind text not null check (kind in ('pin', 'cvv')),
  -- The value of try_counter.spent after this try: it never repeats.
  try_number integer not null check (try_number > 0),
  epoch integer not null,
  attempted_at timestamptz not null default now(),
  result text not null default 'unresolved' check (result in ('unresolved', 'match', 'mismatch')),
  -- Whether the try was given back: by its own match, a later one, or an HSM that did not answer.
  restored boolean not null default false,
  remaining_tries integer not null check (remaining_tries >= 0),
  entry_mode text not null,
  reference text not null,
  primary key (public_token, kind, try_number)
);
create index attempt_by_time on attempt (public_token, attempted_at desc, kind desc, try_number desc);

-- Whether the block that the counters say was told by an event, in this epoch.
alter table try_counter add column block_told boolean not null default false;
create index try_counter_untold_block on try_counter (public_token, kind)
  where spent - restored = try_limit and not block_told;
