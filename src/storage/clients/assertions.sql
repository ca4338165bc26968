-- Accepted assertions of `private_key_jwt`, each until it expires.

-- name: remember_client_assertion
insert into client_assertion (client_id, jti_hash, expires_at)
values (:clientId, :jtiHash, :expiresAt)
on conflict (client_id, jti_hash) do nothing
returning client_id as "clientId";

-- The list is materialized and joined row by row, so that no plan reads more than its rows.
-- name: prune_client_assertions
with expired as materialized (
  select client_id, jti_hash
  from client_assertion
  where expires_at < (select :expiredBefore::timestamptz)
  order by expires_at
  limit :limit
)
delete from client_assertion
using expired
where client_assertion.client_id = any(array[expired.client_id])
  and client_assertion.jti_hash between expired.jti_hash and expired.jti_hash
  and :expiredBefore::timestamptz - expires_at > interval '0'
returning client_assertion.client_id as "clientId";
