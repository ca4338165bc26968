-- The creation of a card: its rule is in database/functions/cards/create-card.sql. Those who share
-- it are taken in the order of their keys' hashes, so that two shared creations never wait for each
-- other's keys.

-- name: create_card
select create_card(
  p_public_token => :publicToken,
  p_client_id => :clientId,
  p_product_id => :productId,
  p_product_version => :productVersion,
  p_card_type => :cardType,
  p_customer_reference => :customerReference,
  p_design_id => :designId,
  p_masked_pan => :maskedPan,
  p_pan_fingerprints => string_to_array(:panFingerprints, ',')::bytea[],
  p_fingerprint_key_versions => string_to_array(:fingerprintKeyVersions, ',')::integer[],
  p_encrypted_pan => :encryptedPan,
  p_personal_data => :personalData,
  p_start_date => :startDate,
  p_expiry_date => :expiryDate,
  p_status_code => :statusCode,
  p_pin_block => :pinBlock,
  p_pvv => :pvv,
  p_pin_key => :pinKey,
  p_cvk => :cvk,
  p_pin_try_limit => :pinTryLimit,
  p_cvv_try_limit => :cvvTryLimit,
  p_event_type => :eventType,
  p_request_id => :requestId,
  p_details => :details,
  p_note => :note,
  p_claimant_id => :claimantId,
  p_key_hashes => string_to_array(:keyHashes, ',')::bytea[],
  p_request_fingerprint => :requestFingerprint,
  p_claim_id => :claimId,
  p_answer => :answer
) as "isDone";

-- name: create_card_several
select asked.ordinal::integer as "ordinal", done.is_done as "isDone"
from (
  select *
  from unnest(
    :publicTokens::text[], :clientIds::text[], :productIds::integer[], :productVersions::uuid[],
    :cardTypes::text[], :customerReferences::text[], :designIds::text[], :maskedPans::text[],
    :panFingerprints::text[], :fingerprintKeyVersions::text[], :encryptedPans::bytea[],
    :personalDatas::bytea[], :startDates::date[], :expiryDates::date[], :statusCodes::text[],
    :pinBlocks::bytea[], :pvvs::text[], :pinKeys::text[], :cvks::text[],
    :pinTryLimits::integer[], :cvvTryLimits::integer[], :eventTypes::text[], :requestIds::text[],
    :details::text[], :notes::bytea[], :claimantIds::text[], :keyHashes::text[],
    :requestFingerprints::bytea[], :claimIds::uuid[], :answers::bytea[]
  ) with ordinality as caller (
    public_token, client_id, product_id, product_version, card_type, customer_reference,
    design_id, masked_pan, pan_fingerprints, fingerprint_key_versions, encrypted_pan,
    personal_data, start_date, expiry_date, status_code, pin_block, pvv, pin_key, cvk,
    pin_try_limit, cvv_try_limit, event_type, request_id, details, note, claimant_id, key_hashes,
    request_fingerprint, claim_id, answer, ordinal
  )
  order by key_hashes
) as asked
cross join lateral create_card(
  p_public_token => asked.public_token,
  p_client_id => asked.client_id,
  p_product_id => asked.product_id,
  p_product_version => asked.product_version,
  p_card_type => asked.card_type,
  p_customer_reference => asked.customer_reference,
  p_design_id => asked.design_id,
  p_masked_pan => asked.masked_pan,
  p_pan_fingerprints => string_to_array(asked.pan_fingerprints, ',')::bytea[],
  p_fingerprint_key_versions => string_to_array(asked.fingerprint_key_versions, ',')::integer[],
  p_encrypted_pan => asked.encrypted_pan,
  p_personal_data => asked.personal_data,
  p_start_date => asked.start_date,
  p_expiry_date => asked.expiry_date,
  p_status_code => asked.status_code,
  p_pin_block => asked.pin_block,
  p_pvv => asked.pvv,
  p_pin_key => asked.pin_key,
  p_cvk => asked.cvk,
  p_pin_try_limit => asked.pin_try_limit,
  p_cvv_try_limit => asked.cvv_try_limit,
  p_event_type => asked.event_type,
  p_request_id => asked.request_id,
  p_details => asked.details,
  p_note => asked.note,
  p_claimant_id => asked.claimant_id,
  p_key_hashes => string_to_array(asked.key_hashes, ',')::bytea[],
  p_request_fingerprint => asked.request_fingerprint,
  p_claim_id => asked.claim_id,
  p_answer => asked.answer,
  p_skip_locked => true
) as done (is_done)
where done.is_done;

-- name: is_number_free
select 1 as one
from (select 1) as asked
where not exists (select 1 from card where public_token = any(array[:publicToken]))
  and not exists (
    select 1
    from pan_fingerprint
    where pan_fingerprint in (
      select decode(hash, 'hex')
      from unnest(string_to_array(:hashes, ',')) as hash
    )
  );
