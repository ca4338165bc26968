-- Events of cards: the outbox, which acts write, and the feed, which readers see.
--
-- Both are partitioned into slices of several days by the time of the act, which never changes: old
-- events are removed with their slice. The service makes slices before they are needed. The default
-- partition takes the events of days without a slice.

-- The outbox: written in the transaction of the act that an event reports. The note is enciphered,
-- and readers of events do not see it. The card's own row numbers its events, without repetition.
--
-- No foreign key: the statement that writes an event holds its card's row by its own update or
-- insert, and a foreign key would lock all cards while a slice is made.
create table event (
  public_token text not null,
  sequence integer not null check (sequence > 0),
  -- A version 7 UUID (RFC 9562), from the clock and random bits: ids of one time are adjacent in an
  -- index.
  event_id uuid not null default encode(
    set_bit(
      set_bit(
        overlay(
          uuid_send(gen_random_uuid())
          placing substring(
            int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3
          )
          from 1 for 6
        ),
        52,
        1
      ),
      53,
      1
    ),
    'hex'
  )::uuid,
  client_id text not null,
  type text not null,
  -- Read after the card's row is locked, so that times and sequences of a card have the same order.
  occurred_at timestamptz not null default clock_timestamp(),
  request_id text,
  -- The operator who acted on the client's card; null for acts of the client, a network or the
  -- service. Readers of events do not see it.
  operator_id text,
  details text not null,
  note bytea,
  published boolean not null default false,
  -- The time first, so that rows that are written together are adjacent. With the token first, each
  -- event would be written to another page of the index, and so to the write-ahead log as a whole
  -- page.
  primary key (occurred_at, public_token, sequence)
)
partition by range (occurred_at);

create table event_default partition of event default;

-- Unpublished events, in their order and by card. There are few at any time.
create index event_unpublished on event (occurred_at, public_token, sequence)
  where not published;
create index event_unpublished_of_card on event (public_token, sequence) where not published;

-- For re-encryption: the few events that have a note.
create index event_with_note on event (public_token, sequence) where note is not null;

-- The outbox is spread over the shards of all cards. Readers see a copy for each client, keyed by
-- client_id, so that a client's feed, its webhooks and their deliveries are on one shard, and each
-- statement runs on one shard. Positions are in the order in which readers see events, and may have
-- gaps.
create table published_event (
  client_id text not null,
  position bigint not null check (position > 0),
  event_id uuid not null,
  public_token text not null,
  sequence integer not null check (sequence > 0),
  type text not null,
  occurred_at timestamptz not null,
  -- The request that the event belongs to, for its entry in the audit log.
  request_id text,
  operator_id text,
  details text not null,
  published_at timestamptz not null default now(),
  -- The client's row of feed_head prevents duplicate positions.
  primary key (client_id, position, occurred_at),
  -- Prevents that an event is published twice: every publisher copies its time from the outbox. The
  -- event comes first: for a client without statistics, the planner preferred an index that began
  -- with the client to that of positions, and read all events of the client.
  unique (event_id, client_id, occurred_at)
)
partition by range (occurred_at);

create table published_event_default partition of published_event default;

-- Events by type, and the first event since an instant.
create index published_event_by_type on published_event (client_id, type, position);
create index published_event_by_time on published_event (client_id, occurred_at, position);

-- The events of a card, in the order of their sequence. Its first columns differ from those of
-- every other index, for the reason above.
create index published_event_by_card on published_event (public_token, sequence);

-- The last position of a client's events. A publisher locks this row until it commits: positions
-- become visible in their order, even if a lease is lost.
create table feed_head (
  client_id text primary key,
  last_position bigint not null check (last_position >= 0)
);

-- The open streams of clients, ten slots for each client and scope: the right that the stream
-- needs. A slot whose lease has expired is free.
create table client_stream (
  client_id text not null,
  scope text not null check (scope in ('events.read', 'decisions.write')),
  slot integer not null check (slot > 0),
  holder uuid not null,
  leased_until timestamptz not null,
  primary key (client_id, scope, slot)
);
