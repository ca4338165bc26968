-- The outbox and the feed lie in slices of some days each, by when an act took place, which never changes: what is
-- old goes with its slice. The service makes slices some time before they are needed. What none has been made for
-- is kept in the one that is there from the beginning.

-- The outbox: written in the transaction of the act that it reports. The note is enciphered and is no part of
-- what a reader of events sees. The card's own row numbers its events: that keeps a number from being given twice.
--
-- No foreign key: the statement that writes an event has its card's row from its own update or insert, and a key would
-- lock all cards while a slice is made.
create table event (
  public_token text not null,
  sequence integer not null check (sequence > 0),
  -- A version 7 UUID (RFC 9562), by the clock and by chance: those of one time lie together in an index.
  event_id uuid not null default encode(set_bit(set_bit(overlay(
    uuid_send(gen_random_uuid())
    placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
    from 1 for 6), 52, 1), 53, 1), 'hex')::uuid,
  client_id text not null,
  type text not null,
  -- Taken after the card's row is locked, so that times never run against a card's sequence.
  occurred_at timestamptz not null default clock_timestamp(),
  request_id text,
  details text not null,
  note bytea,
  published boolean not null default false,
  -- The time first: what is written together lies together. By the token, each event would be written to another page
  -- of the index, and so to the log as a whole page.
  primary key (occurred_at, public_token, sequence)
) partition by range (occurred_at);
create table event_default partition of event default;
-- What is still to be published, in its order, and which events of a card are: mostly next to nothing.
create index event_unpublished on event (occurred_at, public_token, sequence) where not published;
create index event_unpublished_of_card on event (public_token, sequence) where not published;
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
  -- The client's row of feed_head keeps a position from being given twice.
  primary key (client_id, position, occurred_at),
  -- Keeps an event from being published twice: all who publish it take its time from the outbox.
  -- The event first: beginning with the client, this index looked as good as that of positions for a client of
  -- whom the planner had not heard, and all of that client's events were read for a few.
  unique (event_id, client_id, occurred_at)
) partition by range (occurred_at);
create table published_event_default partition of published_event default;
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
