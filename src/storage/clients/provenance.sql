-- Provenance of clients: who registered them, issued their credentials, or confirmed them.

-- name: list_client_provenance
select client_id as "clientId", act, by_client_id as "by", controlled_by as "controlledBy"
from client_provenance
where client_id = any(:clientIds::text[])
order by client_id, acted_at, by_client_id;

-- name: list_controlled_provenance
select client_id as "clientId", act, by_client_id as "by", controlled_by as "controlledBy"
from client_provenance
where client_id in (
  select client_id
  from client_provenance
  where controlled_by && :controllers::text[]
)
order by client_id, acted_at, by_client_id;

-- A repeated act keeps everyone who could act as its author at either time. Of confirmations, the
-- last one counts.
-- name: insert_client_provenance
insert into client_provenance (client_id, act, by_client_id, controlled_by)
select :clientId, :act, :by, :controlledBy::text[]
on conflict (client_id, act, by_client_id) do update
set acted_at = excluded.acted_at,
  controlled_by = case
    when excluded.act = 'confirmed' then excluded.controlled_by
    else array(
      select unnest(client_provenance.controlled_by)
      union
      select unnest(excluded.controlled_by)
      order by 1
    )
  end;

-- name: count_credentials
with clock as (select clock_timestamp() as at)
update client
set credentials_version = credentials_version + 1, credentials_changed_at = clock.at
from clock
where client_id = :clientId;

-- name: void_client_confirmations
delete from client_provenance
where client_id = :clientId and act = 'confirmed';
