-- Changes of cards, and the PIN envelopes that cards have accepted. If a list is joined to its
-- table, it is materialized and joined row by row, so that no plan reads more than its rows.
--
-- The rules of a change are in database/functions/cards and database/functions/tries.

-- name: change_card_status
select change_card_status(
  p_public_token => :publicToken,
  p_client_id => :clientId,
  p_from => :from,
  p_to => :to,
  p_event_type => :eventType,
  p_request_id => :requestId,
  p_details => :details,
  p_note => :note,
  p_operator_id => :operatorId,
  p_claimant_id => :claimantId,
  p_key_hashes => string_to_array(:keyHashes, ',')::bytea[],
  p_request_fingerprint => :requestFingerprint,
  p_claim_id => :claimId,
  p_answer => :answer
) as "isDone";

-- name: change_card_status_several
select done.ordinal, true as "isDone"
from change_card_status_several(
  p_public_tokens => :publicTokens,
  p_client_ids => :clientIds,
  p_froms => :froms,
  p_tos => :tos,
  p_event_types => :eventTypes,
  p_request_ids => :requestIds,
  p_details => :details,
  p_notes => :notes,
  p_operator_ids => :operatorIds,
  p_claimant_ids => :claimantIds,
  p_key_hashes => :keyHashes,
  p_request_fingerprints => :requestFingerprints,
  p_claim_ids => :claimIds,
  p_answers => :answers
) as done;

-- name: set_pin
select set_pin(
  p_public_token => :publicToken,
  p_client_id => :clientId,
  p_today => :today,
  p_pin_block => :pinBlock,
  p_pvv => :pvv,
  p_pin_key => :pinKey,
  p_chip_pin_block => :chipPinBlock,
  p_chip_pin_key => :chipPinKey,
  p_jti_hash => :jtiHash,
  p_envelope_expires_at => :envelopeExpiresAt,
  p_event_type => :eventType,
  p_request_id => :requestId,
  p_details => :details,
  p_note => :note,
  p_operator_id => :operatorId,
  p_claimant_id => :claimantId,
  p_key_hashes => string_to_array(:keyHashes, ',')::bytea[],
  p_request_fingerprint => :requestFingerprint,
  p_claim_id => :claimId,
  p_answer => :answer
) as "isDone";

-- name: set_pin_several
select done.ordinal, true as "isDone"
from set_pin_several(
  p_public_tokens => :publicTokens,
  p_client_ids => :clientIds,
  p_todays => :todays,
  p_pin_blocks => :pinBlocks,
  p_pvvs => :pvvs,
  p_pin_keys => :pinKeys,
  p_chip_pin_blocks => :chipPinBlocks,
  p_chip_pin_keys => :chipPinKeys,
  p_jti_hashs => :jtiHashs,
  p_envelope_expires_ats => :envelopeExpiresAts,
  p_event_types => :eventTypes,
  p_request_ids => :requestIds,
  p_details => :details,
  p_notes => :notes,
  p_operator_ids => :operatorIds,
  p_claimant_ids => :claimantIds,
  p_key_hashes => :keyHashes,
  p_request_fingerprints => :requestFingerprints,
  p_claim_ids => :claimIds,
  p_answers => :answers
) as done;

-- name: restore_tries
select restore_tries(
  p_public_token => :publicToken,
  p_client_id => :clientId,
  p_kind => :kind,
  p_today => :today,
  p_limit_name => :limitName,
  p_uses => :uses,
  p_window_seconds => :windowSeconds,
  p_event_type => :eventType,
  p_request_id => :requestId,
  p_details => :details,
  p_note => :note,
  p_operator_id => :operatorId,
  p_claimant_id => :claimantId,
  p_key_hashes => string_to_array(:keyHashes, ',')::bytea[],
  p_request_fingerprint => :requestFingerprint,
  p_claim_id => :claimId,
  p_answer => :answer
) as "isDone";

-- name: restore_tries_several
select done.ordinal, true as "isDone"
from restore_tries_several(
  p_public_tokens => :publicTokens,
  p_client_ids => :clientIds,
  p_kinds => :kinds,
  p_todays => :todays,
  p_limit_names => :limitNames,
  p_uses => :uses,
  p_window_seconds => :windowSeconds,
  p_event_types => :eventTypes,
  p_request_ids => :requestIds,
  p_details => :details,
  p_notes => :notes,
  p_operator_ids => :operatorIds,
  p_claimant_ids => :claimantIds,
  p_key_hashes => :keyHashes,
  p_request_fingerprints => :requestFingerprints,
  p_claim_ids => :claimIds,
  p_answers => :answers
) as done;

-- name: spend_all_tries
select spend_all_tries(
  p_public_token => :publicToken,
  p_client_id => :clientId,
  p_kind => :kind,
  p_today => :today,
  p_event_type => :eventType,
  p_request_id => :requestId,
  p_details => :details,
  p_note => :note,
  p_operator_id => :operatorId,
  p_claimant_id => :claimantId,
  p_key_hashes => string_to_array(:keyHashes, ',')::bytea[],
  p_request_fingerprint => :requestFingerprint,
  p_claim_id => :claimId,
  p_answer => :answer
) as "isDone";

-- name: spend_all_tries_several
select done.ordinal, true as "isDone"
from spend_all_tries_several(
  p_public_tokens => :publicTokens,
  p_client_ids => :clientIds,
  p_kinds => :kinds,
  p_todays => :todays,
  p_event_types => :eventTypes,
  p_request_ids => :requestIds,
  p_details => :details,
  p_notes => :notes,
  p_operator_ids => :operatorIds,
  p_claimant_ids => :claimantIds,
  p_key_hashes => :keyHashes,
  p_request_fingerprints => :requestFingerprints,
  p_claim_ids => :claimIds,
  p_answers => :answers
) as done;

-- name: find_pin_envelope
select jti_hash as "jtiHash"
from pin_envelope
where public_token = :publicToken and jti_hash = :jtiHash;

-- name: expire_cards
select expire_cards(p_today => :today, p_limit => :limit) as "count";

-- name: prune_pin_envelopes
with expired as materialized (
  select public_token, jti_hash
  from pin_envelope
  where expires_at < (select :expiredBefore::timestamptz)
  order by expires_at
  limit :limit
)
delete from pin_envelope
using expired
where pin_envelope.public_token = any(array[expired.public_token])
  and pin_envelope.jti_hash between expired.jti_hash and expired.jti_hash
  and :expiredBefore::timestamptz - expires_at > interval '0'
returning pin_envelope.public_token as "publicToken";
