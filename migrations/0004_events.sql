-- The outbox is read from the shards of all cards. What readers see is a copy per client, so that a
-- client's feed, its webhooks and their deliveries lie together, keyed by client_id, and each of the
-- statements over them runs on one shard.

-- Taken after the card's row is held, so that times never run against a card's sequence.
alter table event alter column occurred_at set default clock_timestamp();
alter table event add column placed boolean not null default false;
create index event_by_placing on event (placed, occurred_at);

-- Work that one process at a time does. The clock is the database's.
create table lease (
  lease_name text primary key,
  holder uuid not null,
  leased_until timestamptz not null
);

-- The last position given out to a client's events. Whoever places holds this row until it commits:
-- positions become visible in their order, whatever becomes of a lease.
create table event_head (
  client_id text primary key,
  last_position bigint not null check (last_position >= 0)
);

-- Events in the order in which readers see them. Positions may have gaps.
create table placed_event (
  client_id text not null,
  position bigint not null check (position > 0),
  event_id uuid not null,
  public_token text not null,
  sequence integer not null check (sequence > 0),
  type text not null,
  occurred_at timestamptz not null,
  details text not null,
  placed_at timestamptz not null default now(),
  primary key (client_id, position),
  unique (client_id, event_id)
);

-- Streams that are open, ten slots for each client; a slot whose time is over is free.
create table event_stream (
  client_id text not null,
  slot integer not null check (slot > 0),
  holder uuid not null,
  leased_until timestamptz not null,
  primary key (client_id, slot)
);

create table webhook (
  client_id text not null,
  webhook_id uuid not null,
  url text not null,
  events text[] not null check (cardinality(events) > 0),
  description bytea,
  status text not null default 'Enabled' check (status in ('Enabled', 'Disabled')),
  -- Sealed by the HSM. The previous one signs, too, until its time is over.
  secret bytea not null,
  previous_secret bytea,
  previous_secret_until timestamptz,
  -- Everything after this position that was not delivered is still to be queued again.
  replay_after bigint,
  created_at timestamptz not null default now(),
  disabled_at timestamptz,
  -- Gone for its client; its rows are removed in small steps.
  deleted_at timestamptz,
  primary key (client_id, webhook_id),
  check ((previous_secret is null) = (previous_secret_until is null))
);

-- One event for one endpoint, with every try on record.
create table delivery (
  client_id text not null,
  webhook_id uuid not null,
  position bigint not null,
  event_id uuid not null,
  type text not null,
  -- What is delivered in order: the events of one card. A ping has a lane of its own.
  lane text not null,
  status text not null default 'Pending' check (status in ('Pending', 'Delivered', 'Failed')),
  failures integer not null default 0 check (failures >= 0),
  first_tried_at timestamptz,
  tries jsonb not null default '[]',
  created_at timestamptz not null default now(),
  primary key (client_id, webhook_id, position)
);
create index delivery_pending on delivery (client_id, webhook_id, lane, position)
  where status = 'Pending';

-- A lane whose first pending delivery is due at an instant. The count is arithmetic on the row itself,
-- so that placing and finishing at once cannot lose one another.
create table delivery_lane (
  client_id text not null,
  webhook_id uuid not null,
  lane text not null,
  pending integer not null check (pending >= 0),
  due_at timestamptz not null,
  primary key (client_id, webhook_id, lane)
);
create index delivery_lane_due on delivery_lane (client_id, webhook_id, due_at) where pending > 0;

-- An endpoint is drained by one process at a time. Each wake tells the one that drains to look again
-- before it lets go.
create table delivery_queue (
  client_id text not null,
  webhook_id uuid not null,
  due_at timestamptz not null default 'infinity',
  wakes bigint not null default 0,
  failing boolean not null default false,
  holder uuid,
  leased_until timestamptz not null default '-infinity',
  primary key (client_id, webhook_id)
);
create index delivery_queue_due on delivery_queue (failing, due_at);
