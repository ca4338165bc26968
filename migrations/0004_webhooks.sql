create table webhook (
  client_id text not null,
  webhook_id uuid not null,
  url text not null,
  events text[] not null check (cardinality(events) > 0),
  description bytea,
  status text not null default 'Enabled' check (status in ('Enabled', 'Disabled')),
  -- Sealed by the HSM.
  secret bytea not null,
  -- Everything after this position that was not delivered is still to be queued again, in a replay that began at
  -- the other: asking for the same again does not begin it anew.
  replay_after bigint,
  replay_from bigint,
  created_at timestamptz not null default now(),
  -- When it got its address, or was enabled again: three days are counted from then at the earliest.
  url_since timestamptz not null default now(),
  disabled_at timestamptz,
  -- Gone for its client; its rows are removed in small steps.
  deleted_at timestamptz,
  primary key (client_id, webhook_id)
);

-- Secrets that were replaced sign, too, until their time is over. Sealed by the HSM.
create table webhook_former_secret (
  client_id text not null,
  webhook_id uuid not null,
  former_secret_id uuid not null default gen_random_uuid(),
  secret bytea not null,
  signs_until timestamptz not null,
  primary key (client_id, webhook_id, former_secret_id)
);

-- One event for one endpoint, with every attempt on record.
create table delivery (
  client_id text not null,
  webhook_id uuid not null,
  position bigint not null,
  event_id uuid not null,
  type text not null,
  -- What is delivered in order: the events of one card. A ping has a group of its own.
  group_key text not null,
  status text not null default 'Pending' check (status in ('Pending', 'Delivered', 'Failed')),
  failures integer not null default 0 check (failures >= 0),
  -- Raised whenever it is queued anew: an attempt that began before decides nothing of it.
  round integer not null default 1 check (round > 0),
  first_tried_at timestamptz,
  tries jsonb not null default '[]',
  created_at timestamptz not null default now(),
  primary key (client_id, webhook_id, position)
);
create index delivery_pending on delivery (client_id, webhook_id, group_key, position)
  where status = 'Pending';
-- Settled ones are forgotten by their age, whatever lies before them.
create index delivery_by_age on delivery (client_id, webhook_id, created_at)
  where status <> 'Pending';

-- The deliveries of one group, the first of which is due at an instant. The count is arithmetic on the row itself,
-- so that publishing and finishing at once cannot lose one another.
create table delivery_group (
  client_id text not null,
  webhook_id uuid not null,
  group_key text not null,
  pending integer not null check (pending >= 0),
  due_at timestamptz not null,
  primary key (client_id, webhook_id, group_key)
);
create index delivery_group_due on delivery_group (client_id, webhook_id, due_at) where pending > 0;

-- An endpoint is drained by one process at a time. Arrivals make the one that drains look again before it lets go.
create table delivery_queue (
  client_id text not null,
  webhook_id uuid not null,
  due_at timestamptz not null default 'infinity',
  arrivals bigint not null default 0,
  -- Kept from one that drains to the next: `failing` follows from it.
  consecutive_failures integer not null default 0 check (consecutive_failures >= 0),
  failing boolean not null default false,
  holder uuid,
  leased_until timestamptz not null default '-infinity',
  primary key (client_id, webhook_id)
);
create index delivery_queue_due on delivery_queue (failing, due_at);
