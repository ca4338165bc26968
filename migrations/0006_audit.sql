-- What was done to products, clients, zones and keys, when and at whose word. Never changed.
create table audit_act (
  act_id uuid primary key default gen_random_uuid(),
  -- By the clock: of two acts of one transaction the later is listed as the later.
  acted_at timestamptz not null default clock_timestamp(),
  act text not null,
  subject_kind text not null check (subject_kind in ('product', 'client', 'key')),
  subject text not null,
  -- What changed, as JSON. Never a secret.
  details text not null,
  -- Nobody's, where it was due to a key.
  client_id text check (client_id is not null or subject_kind = 'key'),
  request_id text check ((request_id is null) = (client_id is null))
);
create index audit_act_of_key on audit_act (acted_at desc, act_id desc) where subject_kind = 'key';
create index audit_act_of_other on audit_act (acted_at desc, act_id desc) where subject_kind <> 'key';
