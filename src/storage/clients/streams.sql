-- The slots of the streams on which clients read events and take decisions.

-- name: claim_stream
with claimed as (
  insert into client_stream (client_id, scope, slot, holder, leased_until)
  select :clientId, :scope, slot, :holder, now() + make_interval(secs => :seconds)
  from generate_series(1, :slots::integer) as slot
  where not exists (
    select 1
    from client_stream taken
    where taken.client_id = :clientId and taken.scope = :scope and taken.slot = slot.slot
      and taken.leased_until > now()
  )
  order by random()
  limit 1
  on conflict (client_id, scope, slot) do update
  set holder = excluded.holder, leased_until = excluded.leased_until
  where excluded.leased_until - client_stream.leased_until >= make_interval(secs => :seconds)
  returning slot
)
select slot
from claimed;

-- name: renew_streams
update client_stream
set leased_until = now() + make_interval(secs => :seconds)
from client
where holder = any(:holders::uuid[]) and client.client_id = client_stream.client_id
  and client.active and client_stream.scope = any(client.scopes)
returning holder;

-- name: release_stream
delete from client_stream
where client_id = :clientId and holder = :holder;

-- Whether the client has an open stream, in any process.
-- name: has_stream
select exists (
  select 1
  from client_stream
  where client_id = :clientId and scope = :scope and leased_until > now()
) as "isOpen";

-- name: prune_streams
delete from client_stream
where leased_until < now() - interval '1 hour';
