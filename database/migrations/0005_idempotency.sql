-- A request is carried out once. Its idempotency key is the caller's own text, and people put card
-- numbers there: the table keeps a keyed hash of it alone. While the hash's key is rotated a
-- request has a row for each version, and one of them has the answer.
create table idempotency_record (
  client_id text not null,
  key_hash bytea not null,
  request_fingerprint bytea not null,
  answer bytea,
  retired boolean not null default false,
  -- Which claim of a key an answer belongs to. When a key was deleted and claimed anew, the answer
  -- of the earlier claim is not stored for the later one.
  claim_id uuid not null default gen_random_uuid(),
  created_at timestamptz not null default now(),
  primary key (client_id, key_hash)
);

create index idempotency_record_age on idempotency_record (created_at);
