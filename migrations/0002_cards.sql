create table card (
  public_token text primary key check (public_token ~ '^[1-9][0-9]{9}$'),
  client_id text not null,
  product_id integer not null references product,
  card_type text not null check (card_type in ('Physical', 'Virtual')),
  customer_reference text,
  design_id text,
  masked_pan text not null check (masked_pan ~ '^[0-9]{6}\*{6}[0-9]{4}$'),
  encrypted_pan bytea not null,
  personal_data bytea not null,
  start_date date not null,
  expiry_date date not null check (expiry_date >= start_date),
  status_code text not null check (status_code in ('02', '00', '62', '41', '43', '46', '54', '83')),
  -- Exactly one form of the PIN is kept: a format 4 block, or a PVV that no PIN can be shown from.
  pin_block bytea,
  pvv text check (pvv ~ '^[0-9]{4}$'),
  -- The very versions of the keys, so that a rotation leaves the card as it was issued.
  pin_key text not null,
  cvk text not null,
  last_sequence integer not null default 0 check (last_sequence >= 0),
  created_at timestamptz not null default now(),
  check ((pin_block is null) <> (pvv is null))
-- Room on each page for the next version of a row. Without it a card's first change, which numbers an event and
-- changes no column of an index, would go to another page, and to every index with it.
) with (fillfactor = 90);
-- Every list that a client may ask for is read along one index in the order of the list, whatever its filter:
-- a page costs what it shows, not what the client has. All columns ascend, so that a read backwards is bounded
-- by row comparisons alone, and each index begins as no other does: no plan can take one for another.
create index card_by_client on card (client_id, created_at, public_token);
create index card_by_status on card (status_code, client_id, created_at, public_token);
create index card_by_reference
  on card (customer_reference, client_id, status_code, created_at, public_token)
  where customer_reference is not null;
-- Cards whose last day may have passed before a sweep has said so, expiry by expiry: there are as many
-- expiries as months, however many cards.
create index card_by_client_expiry
  on card (client_id, expiry_date, status_code, created_at, public_token)
  where status_code in ('02', '00', '62');
create index card_by_expiry on card (expiry_date) where status_code in ('02', '00', '62');
-- Whether a product has cards is asked while the product is locked.
create index card_by_product on card (product_id);

-- A PAN is issued once. The fingerprint is a keyed HMAC: without the key it says nothing of the PAN. It is taken
-- under every version of the fingerprints' key that cards are found by.
create table pan_fingerprint (
  pan_fingerprint bytea primary key,
  public_token text not null,
  key_version integer not null default 1 check (key_version > 0)
);
create index pan_fingerprint_by_version on pan_fingerprint (key_version);

-- remaining = try_limit - (spent - restored); a client block spends all that is left.
create table try_counter (
  public_token text not null references card,
  kind text not null check (kind in ('pin', 'cvv')),
  try_limit integer not null check (try_limit between 1 and 15),
  spent integer not null default 0,
  restored integer not null default 0 check (restored >= 0),
  epoch integer not null default 1 check (epoch > 0),
  blocked_by_client boolean not null default false,
  -- Whether an event says that the counters are blocked, in this epoch.
  block_reported boolean not null default false,
  -- All that a result is settled by: the tries of this epoch that are spent and were not given back, in their order,
  -- and when each was spent, in microseconds since 1970; 0 from when it is known not to match. What an epoch leaves
  -- here goes with the first spend of the next.
  outstanding_tries integer[] not null default '{}',
  open_since bigint[] not null default '{}',
  -- Kept by itself, so that the index below is touched only where this changes, and no spend writes to any index.
  is_unreported_block boolean not null
    generated always as (spent - restored = try_limit and not block_reported) stored,
  primary key (public_token, kind),
  check (cardinality(outstanding_tries) = cardinality(open_since)),
  check (spent >= restored and spent - restored <= try_limit),
  check (not blocked_by_client or spent - restored = try_limit)
) with (fillfactor = 90);
create index try_counter_unreported_block on try_counter (public_token, kind)
  where is_unreported_block;

-- Tries that were spent: each on record from its spend, unresolved until its result is known. Nothing is decided
-- by what stands here, and old ones are forgotten. No foreign key: the statement that writes one has its counter's row
-- from its own update, and a key would have it lock the card's row too, which is a write to another page.
create table attempt (
  public_token text not null,
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
) with (fillfactor = 90);
-- Old ones are forgotten day by day. Of a day all entries have one value, which is kept once, and the newest come last.
create index attempt_by_day on attempt (((attempted_at at time zone 'UTC')::date));

-- Expiries that one card network got wrong of one card: they cost no try, and so are watched.
create table wrong_expiry (
  public_token text not null references card,
  client_id text not null,
  -- Microseconds since 1970, newest first: as many as are needed to recognize guessing.
  given_at bigint[] not null check (cardinality(given_at) > 0),
  -- When it was reported that there were too many of them.
  reported_at bigint,
  forget_on_day integer not null,
  primary key (public_token, client_id)
);
create index wrong_expiry_forgotten on wrong_expiry (forget_on_day);

-- A PIN that was sealed on a device is taken once. What it is known by is remembered until its own
-- time is over; the hash keeps the device from choosing how much is stored.
create table pin_envelope (
  public_token text not null references card,
  jti_hash bytea not null check (length(jti_hash) = 32),
  expires_at timestamptz not null,
  primary key (public_token, jti_hash)
);
create index pin_envelope_expiry on pin_envelope (expires_at);

-- Limits that hold for all processes and across restarts: so many uses within any stretch of time, whenever it
-- begins.
create table card_limit (
  public_token text not null references card,
  limit_name text not null,
  -- Microseconds since 1970, newest first: of each use or, where a limit has more than 20, of the last of each few.
  last_uses bigint[] not null check (cardinality(last_uses) between 1 and 20),
  -- Uses that the newest instant stands for.
  newest_uses integer not null check (newest_uses > 0),
  -- The day (since 1970) from whose beginning on none of them counts. A day, so that few uses change the index.
  forget_on_day integer not null,
  primary key (public_token, limit_name)
);
create index card_limit_forgotten on card_limit (forget_on_day);
create table client_limit (
  client_id text not null,
  limit_name text not null,
  last_uses bigint[] not null check (cardinality(last_uses) between 1 and 20),
  newest_uses integer not null check (newest_uses > 0),
  forget_on_day integer not null,
  primary key (client_id, limit_name)
);
create index client_limit_forgotten on client_limit (forget_on_day);
