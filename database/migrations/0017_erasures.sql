-- Erasures from the audit log: the entries of a card, of a client, or old ones. Each erasure reads
-- the log once from its beginning; the erasure of old entries continues forever.
create table audit_erasure (
  erasure_id uuid primary key default gen_random_uuid(),
  kind text not null check (kind in ('card', 'client', 'age')),
  -- The card or client; null once its entries are erased, and for old entries.
  subject text,
  reason text not null,
  -- The requester, and the act that records the request. The erasure of old entries is automatic,
  -- without a requester; an act records it, too.
  requested_by text,
  request_act uuid,
  requested_at timestamptz not null default clock_timestamp(),
  -- The person that approved the request.
  approved_by text,
  -- The entry from which it continues.
  log integer not null default 1,
  next_index bigint not null default 0 check (next_index >= 0),
  -- An act names entries before they are erased; they are erased once a checkpoint covers that act.
  pending_act uuid,
  pending_log integer,
  pending_from bigint[] not null default '{}',
  pending_to bigint[] not null default '{}',
  erased bigint not null default 0,
  finished_at timestamptz,
  check ((pending_act is null) = (pending_log is null)),
  check (cardinality(pending_from) = cardinality(pending_to))
);

create unique index audit_erasure_of_age on audit_erasure (kind) where kind = 'age';
create index audit_erasure_unfinished on audit_erasure (requested_at)
  where finished_at is null;
