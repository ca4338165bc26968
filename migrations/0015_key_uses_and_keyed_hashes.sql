-- How often each version of a key was used: a cryptoperiod is told by it as well as by age.
alter table hsm_key add column uses bigint not null default 0 check (uses >= 0);

-- An idempotency key is its caller's own text, and people put card numbers there: it is kept as a keyed
-- hash alone. The HSM makes it, so what was remembered in clear is moved by the next start.
alter table idempotency_record rename to idempotency_record_in_clear;
alter table idempotency_record_in_clear
  rename constraint idempotency_record_pkey to idempotency_record_in_clear_pkey;
drop index idempotency_record_age;
delete from idempotency_record_in_clear where created_at < now() - interval '24 hours';

create table idempotency_record (
  client_id text not null,
  key_hash bytea not null,
  request_fingerprint bytea not null,
  -- While the hash's key is rotated a request has a row for each version; one of them has the answer.
  answer bytea,
  retired boolean not null default false,
  created_at timestamptz not null default now(),
  primary key (client_id, key_hash)
);
create index idempotency_record_age on idempotency_record (created_at);

-- Where a pass stood among them was told by the key, too.
update key_pass set position = '' where holding = 'idempotency_record.answer';
