-- The registered clients: the systems that call this service.

-- name: find_client
select client_id as "clientId", client_name as "clientName", kind, scopes,
  secret_hash as "secretHash", jwks, active,
  case when previous_secret_until > now() then previous_secret_hash end as "previousSecretHash",
  certificate_bound_tokens as "certificateBoundTokens"
from client
where client_id = :clientId;

-- name: insert_client
insert into client
  (client_id, client_name, kind, scopes, secret_hash, jwks, certificate_bound_tokens)
values (:clientId, :clientName, :kind, :scopes, :secretHash, :jwks,
  coalesce(:certificateBoundTokens, false))
on conflict (client_id) do nothing
returning client_id as "clientId";

-- name: upsert_client
insert into client
  (client_id, client_name, kind, scopes, secret_hash, jwks, certificate_bound_tokens)
values (:clientId, :clientName, :kind, :scopes, :secretHash, :jwks,
  coalesce(:certificateBoundTokens, false))
on conflict (client_id) do update
set client_name = excluded.client_name, kind = excluded.kind, scopes = excluded.scopes,
  secret_hash = excluded.secret_hash, jwks = excluded.jwks,
  certificate_bound_tokens = coalesce(:certificateBoundTokens, client.certificate_bound_tokens),
  credentials_version = client.credentials_version + case
    when (client.secret_hash is distinct from excluded.secret_hash
      or client.jwks is distinct from excluded.jwks) then 1
    else 0
  end,
  credentials_changed_at = case
    when (client.secret_hash is distinct from excluded.secret_hash
      or client.jwks is distinct from excluded.jwks) then excluded.credentials_changed_at
    else client.credentials_changed_at
  end;

-- name: list_client_ids
select client_id as "clientId"
from client
where client_id > :afterClientId and (:kind::text is null or kind = :kind)
order by client_id
limit :limit;

-- A token for former credentials stays valid for an hour after their replacement, and clocks may
-- differ by a minute.
-- name: list_administered_clients
with granted as materialized (
  select client_id, array_agg(product_id order by product_id) as product_ids
  from client_product
  where client_id = any(:clientIds::text[])
  group by client_id
)
select client_id as "clientId", client_name as "clientName", kind, scopes, jwks, active,
  certificate_bound_tokens as "certificateBoundTokens", secret_hash is not null as "hasSecret",
  case when previous_secret_until > now() then previous_secret_until end as "previousSecretUntil",
  created_at as "createdAt", credentials_version as "credentialsVersion",
  credentials_changed_at as "credentialsChangedAt",
  case
    when case
      when credentials_version > 1
        then greatest(credentials_changed_at, previous_secret_until) + interval '61 minutes'
    end > now() then case
      when credentials_version > 1
        then greatest(credentials_changed_at, previous_secret_until) + interval '61 minutes'
    end
  end as "formerCredentialsUntil",
  coalesce((
    select json_agg(json_build_object('act', act, 'by', by_client_id, 'controlledBy', controlled_by)
      order by acted_at, by_client_id)
    from client_provenance known
    where known.client_id = client.client_id
  ), '[]') as "provenance",
  case
    when kind = 'client' and not receives_events then deliveries_suspended_at
  end as "deliveriesSuspendedSince",
  coalesce(product_ids, '{}') as "productIds"
from client
left join granted using (client_id)
where client_id = any(:clientIds::text[])
order by client_id;

-- name: update_client
update client
set client_name = :clientName, scopes = :scopes, jwks = :jwks, active = :active,
  certificate_bound_tokens = :certificateBoundTokens,
  secret_hash = case when :jwks::text is null then secret_hash end,
  previous_secret_hash = case when :jwks::text is null then previous_secret_hash end,
  previous_secret_until = case when :jwks::text is null then previous_secret_until end
where client_id = :clientId;

-- name: replace_client_secret
with overlap as materialized (
  select now() + make_interval(hours => :overlapHours::integer) as ends_at
)
update client
set secret_hash = :secretHash,
  previous_secret_hash = case when :overlapHours::integer > 0 then secret_hash end,
  previous_secret_until = case
    when :overlapHours::integer > 0 and secret_hash is not null then ends_at
  end
from overlap
where client_id = :clientId and jwks is null
returning previous_secret_until as "previousSecretUntil";

-- name: count_administrators
select count(*)::integer as "count"
from client
where kind = 'admin' and active and 'admin' = any(scopes)
  and (secret_hash is not null or jwks is not null);
