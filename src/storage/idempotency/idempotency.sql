-- Requests that are stored under their idempotency keys, for 24 hours.

-- name: claim_idempotency_key
select claim_idempotency_key(
  p_client_id => :clientId,
  p_key_hashes => string_to_array(:keyHashes, ',')::bytea[],
  p_request_fingerprint => :requestFingerprint,
  p_claim_id => :claimId,
  p_answer => :answer
) as "isClaimed";

-- If the key was claimed under a hash that only the claiming process knew, there may be no row. A
-- client that gets a stored answer assumes that its act was done. If a commit's wait for a standby
-- was cancelled, the act may be lost with its server: so the answer writes a trace, whose own
-- commit waits until the standby has everything.
-- name: find_idempotency_record
select encode(request_fingerprint, 'hex') = any (:requestFingerprints::text[]) as "isSameRequest",
  retired, claim_id as "claimId", answer,
  extract(epoch from now() - created_at)::integer as "ageSeconds",
  case when answer is not null then pg_logical_emit_message(true, 'pinfold', '') end is not null
    as "isConfirmed"
from idempotency_record
where client_id = :clientId and key_hash = any (:keyHashes::text[]::bytea[])
  and created_at >= now() - interval '24 hours'
order by answer is null
limit 1;

-- name: store_answer
select answer as "answer", is_own as "isOwn"
from store_answer(
  p_client_id => :clientId,
  p_key_hashes => string_to_array(:keyHashes, ',')::bytea[],
  p_claim_id => :claimId,
  p_answer => :answer
)
where answer is not null;

-- name: retire_idempotency_key
select retire_idempotency_key(
  p_client_id => :clientId,
  p_key_hashes => :keyHashes::text[]::bytea[]
);

-- name: delete_old_idempotency_records
select delete_old_idempotency_records(p_limit => :limit) as "count";
