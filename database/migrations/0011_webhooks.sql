-- Webhooks and the deliveries to them.

create table webhook (
  client_id text not null,
  webhook_id uuid not null,
  url text not null,
  events text[] not null check (cardinality(events) > 0),
  description bytea,
  status text not null default 'Enabled' check (status in ('Enabled', 'Disabled')),
  -- The reason for which it was disabled; null while it is enabled.
  disabled_reason text
    check (disabled_reason in ('receiver_gone', 'not_delivered', 'operator', 'client')),
  -- Sealed by the HSM.
  secret bytea not null,
  -- A replay queues again every event after replay_after that was not delivered. It began at
  -- replay_from: a repeated request for the same replay does not begin it again.
  replay_after bigint,
  replay_from bigint,
  created_at timestamptz not null default now(),
  -- When the webhook got its address or was enabled again. Its three days never begin earlier.
  url_since timestamptz not null default now(),
  disabled_at timestamptz,
  -- Deleted by its client; its rows are removed in small steps.
  deleted_at timestamptz,
  primary key (client_id, webhook_id)
);

-- Replaced secrets that also sign until signs_until. Sealed by the HSM.
create table webhook_former_secret (
  client_id text not null,
  webhook_id uuid not null,
  former_secret_id uuid not null default gen_random_uuid(),
  secret bytea not null,
  signs_until timestamptz not null,
  primary key (client_id, webhook_id, former_secret_id)
);

-- One event for one webhook, with every delivery attempt.
create table delivery (
  client_id text not null,
  webhook_id uuid not null,
  position bigint not null,
  event_id uuid not null,
  type text not null,
  -- The deliveries of a group arrive in order. A group has the events of one card; each ping has
  -- its own group.
  group_key text not null,
  status text not null default 'Pending' check (status in ('Pending', 'Delivered', 'Failed')),
  failures integer not null default 0 check (failures >= 0),
  -- Raised whenever the delivery is queued again: attempts of an earlier round are ignored.
  round integer not null default 1 check (round > 0),
  first_tried_at timestamptz,
  tries jsonb not null default '[]',
  created_at timestamptz not null default now(),
  primary key (client_id, webhook_id, position)
);

create index delivery_pending on delivery (client_id, webhook_id, group_key, position)
  where status = 'Pending';

-- Settled deliveries are deleted by age, in any order.
create index delivery_by_age on delivery (client_id, webhook_id, created_at)
  where status <> 'Pending';

-- The deliveries of one group, the first of which is due at due_at. The count is arithmetic on the
-- row itself, so that concurrent publishing and finishing both count.
create table delivery_group (
  client_id text not null,
  webhook_id uuid not null,
  group_key text not null,
  pending integer not null check (pending >= 0),
  due_at timestamptz not null,
  primary key (client_id, webhook_id, group_key)
);

create index delivery_group_due on delivery_group (client_id, webhook_id, due_at)
  where pending > 0;

-- One process at a time delivers to a webhook. Arrivals make that process look again before it
-- releases the queue.
create table delivery_queue (
  client_id text not null,
  webhook_id uuid not null,
  due_at timestamptz not null default 'infinity',
  arrivals bigint not null default 0,
  -- Passed from one holder to the next; `failing` is derived from it.
  consecutive_failures integer not null default 0 check (consecutive_failures >= 0),
  failing boolean not null default false,
  -- When the webhook became a failing one; null while it is not.
  failing_since timestamptz,
  -- A receiver that answers 429 or 503 with Retry-After gets no delivery until this instant. A
  -- ping, a resend, a replay or a change of the webhook ends the pause.
  rests_until timestamptz not null default '-infinity',
  holder uuid,
  leased_until timestamptz not null default '-infinity',
  primary key (client_id, webhook_id)
);

create index delivery_queue_due on delivery_queue (failing, due_at);
