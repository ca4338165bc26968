-- Cards that replace each other. The rules are in database/functions/card-life.

-- name: find_card_of_line
select card.public_token as "publicToken", card.product_id as "productId",
  card.card_type as "cardType", card.customer_reference as "customerReference",
  card.design_id as "designId", card.personal_data as "personalData",
  card.expiry_date as "expiryDate", card.valid_until as "validUntil",
  card.status_code as "statusCode", card.line_token as "lineToken",
  card.generation as "generation", card.retired_at is not null as "isRetired",
  card.encrypted_pan as "encryptedPan", card.pin_block as "pinBlock", card.pin_key as "pinKey",
  card.pin_version as "pinVersion", card.pin_source_token as "pinSourceToken",
  card.carried_pin_version as "carriedPinVersion", product.pin_length as "pinLength",
  product.currency_code as "currencyCode",
  product.renewal_grace_months as "renewalGraceMonths",
  card.card_type = 'Physical' and product.chip is not null as "hasChip",
  card.plastic_number as "plasticNumber", present.delivery_status as "deliveryStatus",
  noted.metadata as "metadata"
from (
  select *
  from card
  where public_token = any(array[:publicToken])
  limit 1
) as card
cross join lateral (
  select *
  from product
  where product_id = any(array[card.product_id])
  limit 1
) as product
left join lateral (
  select delivery_status
  from plastic
  where public_token = any(array[:publicToken]) and state = 'Current'
  limit 1
) as present on true
cross join lateral (
  select json_object_agg(key, value order by key)::text as metadata
  from (
    select key, value
    from card_metadata
    where public_token = any(array[:publicToken])
    limit 50
  ) as entry
) as noted
where card.client_id = :clientId;

-- name: find_successor
select find_successor(
  p_line_token => :lineToken,
  p_generation => :generation,
  p_today => :today
) as "publicToken";

-- name: is_pin_requested
select is_pin_requested as "isPinRequested"
from card_line
where public_token = :lineToken and generation = :generation;

-- name: find_pin_source
select find_pin_source(
  p_line_token => :lineToken,
  p_generation => :generation,
  p_pin_source_token => :pinSourceToken
) as "publicToken";

-- name: choose_token_of_shard
select choose_token_of_shard(
  p_line_token => :lineToken,
  p_candidates => :candidates
) as "publicToken";

-- name: replace_card
select replace_card(
  p_public_token => :lineToken,
  p_replaced_token => :replacedToken,
  p_client_id => :clientId,
  p_from => :from,
  p_to => :to,
  p_is_retired => :isRetired,
  p_today => :today,
  p_expired_since => :expiredSince,
  p_reason => :reason,
  p_successor_token => :successorToken,
  p_product_id => :productId,
  p_product_version => :productVersion,
  p_card_type => :cardType,
  p_customer_reference => :customerReference,
  p_design_id => :designId,
  p_masked_pan => :maskedPan,
  p_pan_fingerprints => string_to_array(:panFingerprints, ',')::bytea[],
  p_fingerprint_key_versions => string_to_array(:fingerprintKeyVersions, ',')::integer[],
  p_encrypted_pan => :encryptedPan,
  p_former_personal_data => :formerPersonalData,
  p_personal_data => :personalData,
  p_free_texts => :freeTexts,
  p_start_date => :startDate,
  p_expiry_date => :expiryDate,
  p_status_code => :statusCode,
  p_pin_block => :pinBlock,
  p_pvv => :pvv,
  p_pin_key => :pinKey,
  p_pin_source_token => :pinSourceToken,
  p_pin_source_version => :pinSourceVersion,
  p_is_pin_requested => :isPinRequested,
  p_limit_name => :limitName,
  p_uses => :uses,
  p_window_seconds => :windowSeconds,
  p_cvk => :cvk,
  p_pin_try_limit => :pinTryLimit,
  p_cvv_try_limit => :cvvTryLimit,
  p_request_id => :requestId,
  p_replaced_details => :replacedDetails,
  p_created_details => :createdDetails,
  p_note => :note,
  p_created_note => :createdNote,
  p_operator_id => :operatorId,
  p_claimant_id => :claimantId,
  p_key_hashes => string_to_array(:keyHashes, ',')::bytea[],
  p_request_fingerprint => :requestFingerprint,
  p_claim_id => :claimId,
  p_answer => :answer
) as "isDone";

-- name: activate_successor
select activate_successor(
  p_public_token => :lineToken,
  p_successor_token => :successorToken,
  p_client_id => :clientId,
  p_today => :today,
  p_pin_source_token => :pinSourceToken,
  p_pin_source_version => :pinSourceVersion,
  p_is_pin_new => :isPinNew,
  p_pin_block => :pinBlock,
  p_pvv => :pvv,
  p_pin_key => :pinKey,
  p_has_chip => :hasChip,
  p_limit_name => :limitName,
  p_uses => :uses,
  p_window_seconds => :windowSeconds,
  p_request_id => :requestId,
  p_note => :note,
  p_operator_id => :operatorId,
  p_claimant_id => :claimantId,
  p_key_hashes => string_to_array(:keyHashes, ',')::bytea[],
  p_request_fingerprint => :requestFingerprint,
  p_claim_id => :claimId,
  p_answer => :answer
) as "isDone";

-- name: complete_replacement
select complete_replacement(
  p_public_token => :lineToken,
  p_replaced_token => :replacedToken,
  p_client_id => :clientId,
  p_today => :today,
  p_request_id => :requestId,
  p_claimant_id => :claimantId,
  p_key_hashes => string_to_array(:keyHashes, ',')::bytea[],
  p_request_fingerprint => :requestFingerprint,
  p_claim_id => :claimId,
  p_answer => :answer
) as "isDone";
