-- The tries of each card's PIN and CVV.

-- remaining = try_limit - (spent - restored). A withdrawal spends all that remain.
create table try_counter (
  public_token text not null references card,
  kind text not null check (kind in ('pin', 'cvv')),
  try_limit integer not null check (try_limit between 1 and 15),
  spent integer not null default 0,
  restored integer not null default 0 check (restored >= 0),
  epoch integer not null default 1 check (epoch > 0),
  -- Whether the client blocked the CVV, or the PIN moved to the card that took the place of this
  -- one.
  is_withdrawn boolean not null default false,
  -- Whether an event has reported, in this epoch, that the counter is blocked.
  block_reported boolean not null default false,
  -- The state that settles a result: the outstanding tries of this epoch in their order, and when
  -- each was spent, in microseconds since 1970; 0 once the try is known not to match. The first
  -- spend of the next epoch clears the lists.
  outstanding_tries integer[] not null default '{}',
  open_since bigint[] not null default '{}',
  -- A column of its own, so that the index below is written only where this value changes, and a
  -- spend writes to no index.
  is_unreported_block boolean not null
    generated always as (spent - restored = try_limit and not block_reported) stored,
  primary key (public_token, kind),
  check (cardinality(outstanding_tries) = cardinality(open_since)),
  check (spent >= restored and spent - restored <= try_limit),
  check (not is_withdrawn or spent - restored = try_limit)
)
with (fillfactor = 90);

create index try_counter_unreported_block on try_counter (public_token, kind)
  where is_unreported_block;

-- Mistakes of one card network with one card: wrong expiry dates, cryptograms, values of stripes
-- and 3-D Secure values. They spend no try, so they are watched.
create table card_mistake (
  public_token text not null references card,
  client_id text not null,
  kind text not null check (kind in ('expiry', 'cryptogram', 'card_value', 'cavv')),
  -- Microseconds since 1970, newest first: as many as the detection of guessing needs.
  given_at bigint[] not null check (cardinality(given_at) > 0),
  -- When an event reported guessing.
  reported_at bigint,
  forget_on_day integer not null,
  primary key (public_token, client_id, kind)
);

create index card_mistake_forgotten on card_mistake (forget_on_day);
