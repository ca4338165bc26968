-- Changes of cards, and the PIN envelopes that cards have had. Where a list is joined to its table,
-- it is materialized and joined row by row, so that no plan reads more than its rows.
--
-- The rules of a change are in database/functions/cards. Those who share a change are taken in the
-- order of their keys' hashes, so that two shared changes never wait for each other's keys.

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
select asked.ordinal::integer as "ordinal", done.is_done as "isDone"
from (
  select *
  from unnest(
    :publicTokens::text[], :clientIds::text[], :froms::text[], :tos::text[], :eventTypes::text[],
    :requestIds::text[], :details::text[], :notes::bytea[], :operatorIds::text[],
    :claimantIds::text[], :keyHashes::text[], :requestFingerprints::bytea[], :claimIds::uuid[],
    :answers::bytea[]
  ) with ordinality as caller (
    public_token, client_id, from_code, to_code, event_type, request_id, details, note,
    operator_id, claimant_id, key_hashes, request_fingerprint, claim_id, answer, ordinal
  )
  order by key_hashes
) as asked
cross join lateral change_card_status(
  p_public_token => asked.public_token,
  p_client_id => asked.client_id,
  p_from => asked.from_code,
  p_to => asked.to_code,
  p_event_type => asked.event_type,
  p_request_id => asked.request_id,
  p_details => asked.details,
  p_note => asked.note,
  p_operator_id => asked.operator_id,
  p_claimant_id => asked.claimant_id,
  p_key_hashes => string_to_array(asked.key_hashes, ',')::bytea[],
  p_request_fingerprint => asked.request_fingerprint,
  p_claim_id => asked.claim_id,
  p_answer => asked.answer,
  p_skip_locked => true
) as done (is_done)
where done.is_done;

-- name: set_pin
select set_pin(
  p_public_token => :publicToken,
  p_client_id => :clientId,
  p_today => :today,
  p_pin_block => :pinBlock,
  p_pvv => :pvv,
  p_pin_key => :pinKey,
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
select asked.ordinal::integer as "ordinal", done.is_done as "isDone"
from (
  select *
  from unnest(
    :publicTokens::text[], :clientIds::text[], :todays::date[], :pinBlocks::bytea[],
    :pvvs::text[], :pinKeys::text[], :jtiHashs::bytea[], :envelopeExpiresAts::timestamptz[],
    :eventTypes::text[], :requestIds::text[], :details::text[], :notes::bytea[],
    :operatorIds::text[], :claimantIds::text[], :keyHashes::text[],
    :requestFingerprints::bytea[], :claimIds::uuid[], :answers::bytea[]
  ) with ordinality as caller (
    public_token, client_id, today, pin_block, pvv, pin_key, jti_hash, envelope_expires_at,
    event_type, request_id, details, note, operator_id, claimant_id, key_hashes,
    request_fingerprint, claim_id, answer, ordinal
  )
  order by key_hashes
) as asked
cross join lateral set_pin(
  p_public_token => asked.public_token,
  p_client_id => asked.client_id,
  p_today => asked.today,
  p_pin_block => asked.pin_block,
  p_pvv => asked.pvv,
  p_pin_key => asked.pin_key,
  p_jti_hash => asked.jti_hash,
  p_envelope_expires_at => asked.envelope_expires_at,
  p_event_type => asked.event_type,
  p_request_id => asked.request_id,
  p_details => asked.details,
  p_note => asked.note,
  p_operator_id => asked.operator_id,
  p_claimant_id => asked.claimant_id,
  p_key_hashes => string_to_array(asked.key_hashes, ',')::bytea[],
  p_request_fingerprint => asked.request_fingerprint,
  p_claim_id => asked.claim_id,
  p_answer => asked.answer,
  p_skip_locked => true
) as done (is_done)
where done.is_done;

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
select asked.ordinal::integer as "ordinal", done.is_done as "isDone"
from (
  select *
  from unnest(
    :publicTokens::text[], :clientIds::text[], :kinds::text[], :todays::date[],
    :limitNames::text[], :uses::integer[], :windowSeconds::integer[], :eventTypes::text[],
    :requestIds::text[], :details::text[], :notes::bytea[], :operatorIds::text[],
    :claimantIds::text[], :keyHashes::text[], :requestFingerprints::bytea[], :claimIds::uuid[],
    :answers::bytea[]
  ) with ordinality as caller (
    public_token, client_id, kind, today, limit_name, uses, window_seconds, event_type,
    request_id, details, note, operator_id, claimant_id, key_hashes, request_fingerprint,
    claim_id, answer, ordinal
  )
  order by key_hashes
) as asked
cross join lateral restore_tries(
  p_public_token => asked.public_token,
  p_client_id => asked.client_id,
  p_kind => asked.kind,
  p_today => asked.today,
  p_limit_name => asked.limit_name,
  p_uses => asked.uses,
  p_window_seconds => asked.window_seconds,
  p_event_type => asked.event_type,
  p_request_id => asked.request_id,
  p_details => asked.details,
  p_note => asked.note,
  p_operator_id => asked.operator_id,
  p_claimant_id => asked.claimant_id,
  p_key_hashes => string_to_array(asked.key_hashes, ',')::bytea[],
  p_request_fingerprint => asked.request_fingerprint,
  p_claim_id => asked.claim_id,
  p_answer => asked.answer,
  p_skip_locked => true
) as done (is_done)
where done.is_done;

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
select asked.ordinal::integer as "ordinal", done.is_done as "isDone"
from (
  select *
  from unnest(
    :publicTokens::text[], :clientIds::text[], :kinds::text[], :todays::date[],
    :eventTypes::text[], :requestIds::text[], :details::text[], :notes::bytea[],
    :operatorIds::text[], :claimantIds::text[], :keyHashes::text[],
    :requestFingerprints::bytea[], :claimIds::uuid[], :answers::bytea[]
  ) with ordinality as caller (
    public_token, client_id, kind, today, event_type, request_id, details, note, operator_id,
    claimant_id, key_hashes, request_fingerprint, claim_id, answer, ordinal
  )
  order by key_hashes
) as asked
cross join lateral spend_all_tries(
  p_public_token => asked.public_token,
  p_client_id => asked.client_id,
  p_kind => asked.kind,
  p_today => asked.today,
  p_event_type => asked.event_type,
  p_request_id => asked.request_id,
  p_details => asked.details,
  p_note => asked.note,
  p_operator_id => asked.operator_id,
  p_claimant_id => asked.claimant_id,
  p_key_hashes => string_to_array(asked.key_hashes, ',')::bytea[],
  p_request_fingerprint => asked.request_fingerprint,
  p_claim_id => asked.claim_id,
  p_answer => asked.answer,
  p_skip_locked => true
) as done (is_done)
where done.is_done;

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
