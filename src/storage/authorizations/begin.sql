-- How an authorization begins. The rule is in database/functions/authorizations.

-- name: begin_authorization
select begun.outcome, begun.public_token as "publicToken", begun.client_id as "clientId",
  begun.encrypted_pan as "encryptedPan", begun.status_code as "statusCode",
  begun.expiry_date as "expiryDate", begun.pin_block as "pinBlock", begun.pvv,
  begun.pin_key as "pinKey", begun.cvk, begun.pin_length as "pinLength",
  begun.pin_limit as "pinLimit", begun.pin_remaining as "pinRemaining",
  begun.cvv_limit as "cvvLimit", begun.cvv_remaining as "cvvRemaining",
  begun.try_number as "tryNumber", begun.epoch, begun.remaining
from begin_authorization(
  p_public_token => :publicToken,
  p_pan_fingerprints => string_to_array(:panFingerprints, ',')::bytea[],
  p_kind => :kind,
  p_current_month => :currentMonth,
  p_expiry_month => :expiryMonth,
  p_zone_key_name => :zoneKeyName,
  p_zone_key_block => :zoneKeyBlock,
  p_authorization_id => :authorizationId,
  p_network_id => :networkId,
  p_request_id => :requestId,
  p_reference => :reference,
  p_entry_mode => :entryMode,
  p_claimant_id => :claimantId,
  p_key_hashes => string_to_array(:keyHashes, ',')::bytea[],
  p_request_fingerprint => :requestFingerprint,
  p_claim_id => :claimId,
  p_transaction_hashes => string_to_array(:transactionHashes, ',')::bytea[],
  p_message_class => :messageClass,
  p_trace => :trace,
  p_transmitted_at => :transmittedAt,
  p_acquirer => :acquirer
) as begun;

-- It waits for no card: a caller whose counter is locked is left out. Keys are claimed in the order
-- of their hashes, so that two shared calls never wait for each other's keys.
-- name: begin_authorization_several
select asked.ordinal::integer as "ordinal", begun.outcome, begun.public_token as "publicToken",
  begun.client_id as "clientId", begun.encrypted_pan as "encryptedPan",
  begun.status_code as "statusCode", begun.expiry_date as "expiryDate",
  begun.pin_block as "pinBlock", begun.pvv, begun.pin_key as "pinKey", begun.cvk,
  begun.pin_length as "pinLength", begun.pin_limit as "pinLimit",
  begun.pin_remaining as "pinRemaining", begun.cvv_limit as "cvvLimit",
  begun.cvv_remaining as "cvvRemaining", begun.try_number as "tryNumber", begun.epoch,
  begun.remaining
from (
  select *, coalesce(given_token, (
      select known.public_token
      from pan_fingerprint as known
      where known.pan_fingerprint = any (string_to_array(pan_fingerprints, ',')::bytea[])
      limit 1
    )) as public_token
  from unnest(
    :publicTokens::text[], :panFingerprints::text[], :kinds::text[], :currentMonths::text[],
    :expiryMonths::text[], :zoneKeyNames::text[], :zoneKeyBlocks::text[],
    :authorizationIds::uuid[], :networkIds::text[], :requestIds::text[], :references::text[],
    :entryModes::text[], :claimantIds::text[], :keyHashes::text[], :requestFingerprints::bytea[],
    :claimIds::uuid[], :transactionHashes::text[], :messageClass::text[], :traces::text[],
    :transmittedAts::text[], :acquirers::text[]
  ) with ordinality as caller (
    given_token, pan_fingerprints, kind, current_month, expiry_month, zone_key_name,
    zone_key_block, authorization_id, network_id, request_id, reference, entry_mode, claimant_id,
    key_hashes, request_fingerprint, claim_id, transaction_hashes, message_class, trace,
    transmitted_at, acquirer, ordinal
  )
  order by key_hashes
) as asked
left join lateral (
  select true as is_locked
  from try_counter as counter
  where counter.public_token = asked.public_token and counter.kind = asked.kind
  for no key update skip locked
) as counter on true
cross join lateral begin_authorization(
  p_public_token => asked.public_token,
  p_pan_fingerprints => null,
  p_kind => asked.kind,
  p_current_month => asked.current_month,
  p_expiry_month => asked.expiry_month,
  p_zone_key_name => asked.zone_key_name,
  p_zone_key_block => asked.zone_key_block,
  p_authorization_id => asked.authorization_id,
  p_network_id => asked.network_id,
  p_request_id => asked.request_id,
  p_reference => asked.reference,
  p_entry_mode => asked.entry_mode,
  p_claimant_id => asked.claimant_id,
  p_key_hashes => string_to_array(asked.key_hashes, ',')::bytea[],
  p_request_fingerprint => asked.request_fingerprint,
  p_claim_id => asked.claim_id,
  p_transaction_hashes => string_to_array(asked.transaction_hashes, ',')::bytea[],
  p_message_class => asked.message_class,
  p_trace => asked.trace,
  p_transmitted_at => asked.transmitted_at,
  p_acquirer => asked.acquirer
) as begun
where counter.is_locked or asked.kind is null;

-- name: find_card_reference
select card.public_token as "publicToken", card.client_id as "clientId",
  card.encrypted_pan as "encryptedPan"
from card
where card.public_token = :publicToken;

-- name: find_card_reference_several
select asked.ordinal::integer as "ordinal", found.public_token as "publicToken",
  found.client_id as "clientId", found.encrypted_pan as "encryptedPan"
from unnest(:publicTokens::text[]) with ordinality as asked (public_token, ordinal)
cross join lateral (
  select card.public_token, card.client_id, card.encrypted_pan
  from card
  where card.public_token = any(array[asked.public_token])
  limit 1
) as found;

-- A cluster is told by the list, before it reads it, which node has the row.
-- name: find_token_by_pan
select known.public_token as "publicToken"
from pan_fingerprint as known
where known.pan_fingerprint = any(string_to_array(:panFingerprints, ',')::bytea[])
limit 1;

-- name: find_token_by_pan_several
select asked.ordinal::integer as "ordinal", found.public_token as "publicToken"
from unnest(:panFingerprints::text[]) with ordinality as asked (pan_fingerprints, ordinal)
cross join lateral (
  select known.public_token
  from pan_fingerprint as known
  where known.pan_fingerprint = any(string_to_array(asked.pan_fingerprints, ',')::bytea[])
  limit 1
) as found;
