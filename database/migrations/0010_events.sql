-- Events of cards: the outbox, which acts write, and the feed, which readers see.
--
-- Both are partitioned into slices of some days by the time of the act, which never changes: old
-- events are removed with their slice. The service makes slices some time before they are needed.
-- The default partition takes what no slice was made for.

-- The outbox: written in the transaction of the act that an event reports. The note is enciphered,
-- and readers of events do not see it. The card's own row numbers its events: no number is given
-- twice.
--
-- No foreign key: the statement that writes an event holds its card's row by its own update or
-- insert, and a foreign key would lock all cards while a slice is made.
create table event (
  public_token text not null,
  sequence integer not null check (sequence > 0),
  -- A version 7 UUID (RFC 9562), from the clock and random bits: ids of one time are together in an
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
  -- Taken after the card's row is locked: times never run against a card's sequence.
  occurred_at timestamptz not null default clock_timestamp(),
  request_id text,
  -- The operator who acted on the client's card; null where the client itself, a network, or
  -- nobody did. Readers of events do not see it.
  operator_id text,
  details text not null,
  note bytea,
  published boolean not null default false,
  -- The time first: rows that are written together lie together. By the token, each event would be
  -- written to another page of the index, and so to the write-ahead log as a whole page.
  primary key (occurred_at, public_token, sequence)
)
partition by range (occurred_at);

create table event_default partition of event default;

-- Unpublished events, in their order and by card: there are few at any time.
create index event_unpublished on event (occurred_at, public_token, sequence)
  where not published;
create index event_unpublished_of_card on event (public_token, sequence) where not published;

-- For re-encryption: the few events that have a note.
create index event_with_note on event (public_token, sequence) where note is not null;

-- The outbox is read from the shards of all cards. Readers see a copy per client, so that a
-- client's feed, its webhooks and their deliveries lie together, keyed by client_id, and each
-- statement over them runs on one shard. Positions are in the order in which readers see events,
-- and may have gaps.
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
  -- The client's row of feed_head keeps a position from being given twice.
  primary key (client_id, position, occurred_at),
  -- Keeps an event from being published twice: every publisher takes its time from the outbox. The
  -- event comes first: an index that began with the client looked as good as that of positions for
  -- a client that had no statistics yet, and all events of that client were read for a few.
  unique (event_id, client_id, occurred_at)
)
partition by range (occurred_at);

create table published_event_default partition of published_event default;

-- Events of some types, and where events since an instant begin.
create index published_event_by_type on published_event (client_id, type, position);
create index published_event_by_time on published_event (client_id, occurred_at, position);

-- A card's own events, in the order of their sequence. It begins as no other index does, for the
-- reason above.
create index published_event_by_card on published_event (public_token, sequence);

-- The last position given to a client's events. A publisher locks this row until it commits:
-- positions become visible in their order, whatever happens to a lease.
create table feed_head (
  client_id text primary key,
  last_position bigint not null check (last_position >= 0)
);

-- Open event streams, ten slots for each client. A slot whose lease has expired is free.
create table event_stream (
  client_id text not null,
  slot integer not null check (slot > 0),
  holder uuid not null,
  leased_until timestamptz not null,
  primary key (client_id, slot)
);
