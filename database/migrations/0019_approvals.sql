-- Acts that are executed after another person has approved them: the request as it was received,
-- and its outcome.
create table approval (
  approval_id uuid primary key,
  kind text not null check (kind in (
    'key-export',
    'key-retirement',
    'key-deletion',
    'master-key-rotation',
    'disclosure-scopes',
    'client-credentials',
    'network',
    'network-retirement',
    'link',
    'administrator',
    'unblock-cards',
    'card-delivery',
    'erasure',
    'audit-successor'
  )),
  -- `waiting` and `approved` are open; the other states are final.
  state text not null default 'waiting' check (state in (
    'waiting',
    'approved',
    'done',
    'failed',
    'refused',
    'withdrawn',
    'expired',
    'stale'
  )),
  method text not null,
  path text not null,
  -- The route requires one of these scopes.
  access text[] not null check (cardinality(access) > 0),
  -- The exact payload, sealed; null once it is deleted.
  payload bytea,
  -- The reason in the request, sealed; it outlives the payload. Null without one.
  reason bytea,
  -- SHA-256 of the payload.
  payload_hash bytea not null check (length(payload_hash) = 32),
  -- The names of its subjects, as JSON, and SHA-256 of their state.
  subject text not null,
  state_digest bytea not null check (length(state_digest) = 32),
  requester_id text not null,
  -- The requester, as JSON; null if a client made the request.
  requester_person text,
  -- Everyone who could act as the requester at the time of the request. None of them can approve
  -- it.
  requester_parties text[] not null default '{}',
  request_id text not null,
  requested_at timestamptz not null default clock_timestamp(),
  decider_id text,
  decider_name text,
  decision_reason text,
  decided_at timestamptz,
  -- Whether the requester approved it in an emergency.
  broke_glass boolean not null default false,
  -- The process that executes it, and when the next attempt is due: until then it belongs to its
  -- holder.
  holder uuid,
  due_at timestamptz,
  attempts integer not null default 0 check (attempts >= 0),
  -- The answer of the route: its status, and its body, sealed.
  outcome_status integer check (outcome_status between 200 and 599),
  outcome bytea,
  ended_at timestamptz,
  check ((state in ('waiting', 'approved')) = (ended_at is null)),
  check ((decider_id is null) = (decided_at is null)),
  check ((state = 'waiting') <= (decided_at is null)),
  check (
    (state in ('approved', 'done', 'failed', 'refused', 'withdrawn')) <= (decided_at is not null)
  ),
  check ((due_at is not null) = (state = 'approved')),
  check ((state in ('done', 'failed')) = (outcome_status is not null)),
  check (not broke_glass or decider_id = requester_id)
);

create index approval_by_time on approval (requested_at, approval_id);
create index approval_by_state on approval (state, requested_at, approval_id);
create index approval_by_requester on approval (requester_id, requested_at, approval_id);
create index approval_waiting on approval (requested_at) where state = 'waiting';
create index approval_waiting_of_requester on approval (requester_id, requested_at)
  where state = 'waiting';
create index approval_due on approval (due_at) where state = 'approved';
create index approval_ended on approval (ended_at);
create index approval_broke_glass on approval (decided_at) where broke_glass;
