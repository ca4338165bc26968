-- The outbox: written in the transaction of the act that it reports. The note is enciphered and is no part of
-- what a reader of events sees.
create table event (
  public_token text not null references card,
  sequence integer not null check (sequence > 0),
  event_id uuid not null default gen_random_uuid(),
  client_id text not null,
  type text not null,
  -- Taken after the card's row is locked, so that times never run against a card's sequence.
  occurred_at timestamptz not null default clock_timestamp(),
  request_id text,
  details text not null,
  note bytea,
  published boolean not null default false,
  primary key (public_token, sequence)
);
create index event_by_publication on event (published, occurred_at);
-- For re-encryption: the few events that have a note.
create index event_with_note on event (public_token, sequence) where note is not null;

-- The outbox is read from the shards of all cards. What readers see is a copy per client, so that a
-- client's feed, its webhooks and their deliveries lie together, keyed by client_id, and each of the
-- statements over them runs on one shard. Events are in the order in which readers see them; positions may
-- have gaps.
create table published_event (
  client_id text not null,
  position bigint not null check (position > 0),
  event_id uuid not null,
  public_token text not null,
  sequence integer not null check (sequence > 0),
  type text not null,
  occurred_at timestamptz not null,
  details text not null,
  published_at timestamptz not null default now(),
  primary key (client_id, position),
  -- The event first: beginning with the client, this index looked as good as that of positions for a client of
  -- whom the planner had not heard, and all of that client's events were read for a few.
  unique (event_id, client_id)
);
-- Events of some types, and where those since an instant begin.
create index published_event_by_type on published_event (client_id, type, position);
create index published_event_by_time on published_event (client_id, occurred_at, position);

-- The last position given to a client's events. Whoever publishes locks this row until it commits: positions
-- become visible in their order, whatever becomes of a lease.
create table feed_head (
  client_id text primary key,
  last_position bigint not null check (last_position >= 0)
);

-- Streams that are open, ten slots for each client; a slot whose time is over is free.
create table event_stream (
  client_id text not null,
  slot integer not null check (slot > 0),
  holder uuid not null,
  leased_until timestamptz not null,
  primary key (client_id, slot)
);
