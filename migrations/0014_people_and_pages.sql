-- What was done to keys is listed page by page: acts of one instant need an order, too.
drop index key_act_by_time;
create index key_act_by_time on key_act (acted_at desc, act_id desc);
create index component_entry_by_expiry on component_entry (expires_at, entry_id);

-- Counts how often a client was given other credentials, so that whoever confirms it says which ones, and
-- tokens from before can be waited for.
alter table client
  add column credentials_version integer not null default 1 check (credentials_version > 0),
  add column credentials_changed_at timestamptz not null default clock_timestamp();

-- Who had a hand in a client: registered it, gave it its credentials or let it in again, or confirmed that
-- whoever holds them is who it says. Nobody did where it comes from the configuration.
create table client_provenance (
  client_id text not null references client,
  act text not null check (act in ('created', 'credentials_set', 'confirmed')),
  by_client_id text not null references client,
  -- Everybody who could have acted for that one at the time, itself among them.
  controlled_by text[] not null check (by_client_id = any (controlled_by)),
  acted_at timestamptz not null default clock_timestamp(),
  primary key (client_id, act, by_client_id)
);
create unique index client_creator on client_provenance (client_id) where act = 'created';

-- Everybody who could have acted for the one who brought it, when it was brought.
alter table key_component add column controlled_by text[] not null default '{}';

-- What the record of acts tells of the clients that there are.
with recursive hand as (
  select acted.subject as client_id, acted.client_id as by_client_id,
    case when acted.act = 'created' then 'created' else 'credentials_set' end as act
  from operator_act acted
  join client on client.client_id = acted.subject
  join client operator on operator.client_id = acted.client_id
  where acted.subject_kind = 'client' and acted.client_id <> acted.subject and (
    acted.act in ('created', 'secret rotated', 'enabled')
    or acted.act in ('changed', 'disabled') and coalesce(
      acted.details::jsonb #> '{after,jwks}',
      acted.details::jsonb #> '{after,scopes}',
      acted.details::jsonb #> '{after,certificateBoundTokens}'
    ) is not null
  )
), control as (
  select client_id, by_client_id from hand
  union
  select control.client_id, hand.by_client_id
  from control join hand on hand.client_id = control.by_client_id
)
insert into client_provenance (client_id, act, by_client_id, controlled_by)
select distinct client_id, act, by_client_id, array(
  select by_client_id union select control.by_client_id from control
  where control.client_id = hand.by_client_id order by 1
) from hand;
update client set credentials_version = 2 where client_id in (
  select client_id from client_provenance where act = 'credentials_set'
);
