-- A request is executed once. Its idempotency key is a text of the caller, which may contain a card
-- number: the table stores only a keyed hash of it. While the hash's key is rotated, a request has
-- a row for each version, and one of them has the answer.
create table idempotency_record (
  client_id text not null,
  key_hash bytea not null,
  request_fingerprint bytea not null,
  answer bytea,
  retired boolean not null default false,
  -- The claim of a key that an answer belongs to. If a key was deleted and claimed again, the
  -- answer of the earlier claim is not stored for the later one.
  claim_id uuid not null default gen_random_uuid(),
  created_at timestamptz not null default now(),
  primary key (client_id, key_hash)
);

create index idempotency_record_age on idempotency_record (created_at);
