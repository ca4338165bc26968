-- The keys that sign the requests for a client's decisions. A replaced key signs for another 24
-- hours.

-- name: lock_decision_signing_keys
select client_id as "clientId"
from client
where client_id = :clientId
for no key update;

-- name: list_decision_signing_keys
select key_id as "keyId", sealed_keys as "sealedKeys", public_key as "publicKey",
  created_at as "createdAt", signs_until as "signsUntil"
from decision_signing_key
where client_id = :clientId and (signs_until is null or signs_until > now())
order by signs_until desc nulls first, key_id;

-- name: insert_decision_signing_key
insert into decision_signing_key (client_id, key_id, sealed_keys, public_key)
values (:clientId, :keyId, :sealedKeys, :publicKey);

-- name: retire_decision_signing_key
update decision_signing_key
set signs_until = now() + interval '24 hours'
where client_id = :clientId and signs_until is null;

-- name: expire_decision_signing_keys
with old as (
  select client_id, key_id
  from decision_signing_key
  where signs_until <= now()
  order by signs_until
  limit :limit
)
delete from decision_signing_key
using old
where decision_signing_key.client_id = any(array[old.client_id])
  and decision_signing_key.key_id = any(array[old.key_id])
returning decision_signing_key.key_id as "keyId";
