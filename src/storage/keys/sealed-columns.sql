-- Sealed columns of several tables, for a re-encryption: lists after a row, and the replacement of
-- one value, if it is unchanged.

-- name: list_sealed_notes
select public_token as "publicToken", sequence, note
from event
where (public_token, sequence) > (:publicToken, :sequence) and note is not null
order by public_token, sequence
limit :limit;

-- name: move_note
select reseal_note(
  p_public_token => :publicToken,
  p_sequence => :sequence,
  p_note => :note,
  p_resealed => :after
) as "isMoved";

-- name: list_sealed_free_texts
select public_token as "publicToken", plastic_number as "plasticNumber",
  free_texts as "freeTexts"
from plastic
where (public_token, plastic_number) > (:publicToken, :plasticNumber) and free_texts is not null
order by public_token, plastic_number
limit :limit;

-- name: move_free_texts
update plastic
set free_texts = :after
where public_token = :publicToken and plastic_number = :plasticNumber
  and free_texts = :freeTexts
returning 1 as one;

-- name: list_sealed_answers
select client_id as "clientId", key_hash as "keyHash", claim_id as "claimId", answer
from idempotency_record
where (client_id, key_hash) > (:clientId, :keyHash) and answer is not null
order by client_id, key_hash
limit :limit;

-- name: move_answer
select reseal_answer(
  p_client_id => :clientId,
  p_key_hash => :keyHash,
  p_answer => :answer,
  p_resealed => :after
) as "isMoved";

-- name: list_sandbox_secrets
select secret_name as "secretName", sealed
from sandbox_secret
where secret_name > :afterName
order by secret_name
limit :limit;

-- name: move_sandbox_secret
update sandbox_secret
set sealed = :after
where secret_name = :secretName and sealed = :sealed
returning secret_name as "secretName";

-- name: list_sealed_webhooks_secret
select client_id as "clientId", webhook_id as "webhookId", secret as "sealed"
from webhook
where (client_id, webhook_id) > (:clientId, :webhookId) and secret is not null
order by client_id, webhook_id
limit :limit;

-- name: list_sealed_webhooks_description
select client_id as "clientId", webhook_id as "webhookId", description as "sealed"
from webhook
where (client_id, webhook_id) > (:clientId, :webhookId) and description is not null
order by client_id, webhook_id
limit :limit;

-- name: move_sealed_webhook_secret
update webhook
set secret = :after
where client_id = :clientId and webhook_id = :webhookId and secret = :sealed
returning 1 as one;

-- name: move_sealed_webhook_description
update webhook
set description = :after
where client_id = :clientId and webhook_id = :webhookId and description = :sealed
returning 1 as one;

-- name: list_sealed_former_secrets
select client_id as "clientId", webhook_id as "webhookId", former_secret_id as "formerSecretId",
  secret as "sealed"
from webhook_former_secret
where (client_id, webhook_id, former_secret_id) > (:clientId, :webhookId, :formerSecretId)
order by client_id, webhook_id, former_secret_id
limit :limit;

-- name: move_sealed_former_secret
update webhook_former_secret
set secret = :after
where client_id = :clientId and webhook_id = :webhookId and former_secret_id = :formerSecretId
  and secret = :sealed
returning 1 as one;

-- name: list_sealed_decision_keys
select client_id as "clientId", key_id as "keyId", sealed_keys as "sealed"
from decision_signing_key
where (client_id, key_id) > (:clientId, :keyId)
order by client_id, key_id
limit :limit;

-- name: move_sealed_decision_keys
update decision_signing_key
set sealed_keys = :after
where client_id = :clientId and key_id = :keyId and sealed_keys = :sealed
returning 1 as one;
