-- What was done to products, clients and zones, when and at whose word. Never changed.
create table operator_act (
  act_id uuid primary key default gen_random_uuid(),
  acted_at timestamptz not null default clock_timestamp(),
  act text not null,
  subject_kind text not null check (subject_kind in ('product', 'client')),
  subject text not null,
  -- What changed, as JSON. Never a secret.
  details text not null,
  client_id text not null,
  request_id text not null
);
create index operator_act_by_time on operator_act (acted_at desc, act_id desc);

-- A client's secret before its last rotation is taken, too, until its time is over.
alter table client
  add column previous_secret_hash bytea,
  add column previous_secret_until timestamptz,
  add check ((previous_secret_hash is null) = (previous_secret_until is null));
