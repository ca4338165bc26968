-- Requests that are remembered under their idempotency keys, for 24 hours.

-- A key that is known already is taken where it is as good as new: after 24 hours.
-- name: claim_idempotency_key
insert into idempotency_record (client_id, key_hash, request_fingerprint, claim_id)
values (:clientId, :keyHash, :requestFingerprint, :claimId)
on conflict (client_id, key_hash) do update
set request_fingerprint = excluded.request_fingerprint, answer = excluded.answer, retired = false,
  created_at = excluded.created_at, claim_id = excluded.claim_id
where excluded.created_at - idempotency_record.created_at > interval '24 hours'
returning client_id;

-- name: release_idempotency_key
delete from idempotency_record
where client_id = :clientId and key_hash = :keyHash;

-- Beside a hash that only the one who claimed knew of there may be none. A client that gets an
-- answer again reads that its act was done. Where a commit's wait for a standby was cut short, that
-- may be gone with its server: so the answer leaves a trace, whose own commit waits until the
-- standby has all of it.
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

-- name: store_idempotent_answer
update idempotency_record
set answer = coalesce(answer, :answer)
where client_id = :clientId and key_hash = :keyHash and claim_id = :claimId
returning answer, answer = :answer as "isOwn";

-- name: retire_idempotency_key
update idempotency_record
set retired = true
where client_id = :clientId and key_hash = any (:keyHashes::text[]::bytea[]);

-- name: delete_old_idempotency_records
select delete_old_idempotency_records(p_limit => :limit) as "count";
