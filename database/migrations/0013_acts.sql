-- Acts of operators, clients and the service on products, clients, keys, people and settings.

-- Acts are numbered without gaps: the transaction that records an act holds this row until it
-- commits, so that numbers become visible in their order and a missing number shows.
create table audit_act_number (
  only_row boolean primary key default true check (only_row),
  last_number bigint not null
);

insert into audit_act_number (last_number) values (0);

create function next_audit_act_number() returns bigint language sql volatile
  as 'update audit_act_number set last_number = last_number + 1 returning last_number';

-- Rows never change.
create table audit_act (
  act_id uuid primary key default gen_random_uuid(),
  number bigint not null default next_audit_act_number(),
  -- The clock: of two acts in one transaction, the later one is listed as later.
  acted_at timestamptz not null default clock_timestamp(),
  act text not null,
  subject_kind text not null check (subject_kind in (
    'product',
    'client',
    'key',
    'process',
    'setting',
    'log',
    'card',
    'person',
    'approval',
    'pan'
  )),
  subject text not null,
  -- The change, as JSON, without secrets.
  details text not null,
  -- Null for an automatic act, or if the actor is unknown.
  client_id text,
  request_id text,
  constraint audit_act_somebody_check check (
    client_id is not null
    or subject_kind in ('key', 'client', 'process', 'setting', 'log', 'person', 'approval')
  ),
  constraint audit_act_request_check check ((request_id is null) = (client_id is null))
);

create unique index audit_act_by_number on audit_act (number);
create index audit_act_of_key on audit_act (acted_at desc, act_id desc)
  where subject_kind = 'key';
create index audit_act_of_other on audit_act (acted_at desc, act_id desc)
  where subject_kind <> 'key';
create index audit_act_of_card on audit_act (subject, number) where subject_kind = 'card';
create index audit_act_of_approval on audit_act (subject, number)
  where subject_kind = 'approval';
