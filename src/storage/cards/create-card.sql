-- The creation of a card. Its rule is in database/functions/cards.

-- name: create_card
select create_card(
  p_public_token => :publicToken,
  p_client_id => :clientId,
  p_product_id => :productId,
  p_product_version => :productVersion,
  p_card_type => :cardType,
  p_customer_reference => :customerReference,
  p_design_id => :designId,
  p_metadata => :metadata,
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
select done.ordinal, true as "isDone"
from create_card_several(
  p_public_tokens => :publicTokens,
  p_client_ids => :clientIds,
  p_product_ids => :productIds,
  p_product_versions => :productVersions,
  p_card_types => :cardTypes,
  p_customer_references => :customerReferences,
  p_design_ids => :designIds,
  p_metadatas => :metadatas,
  p_masked_pans => :maskedPans,
  p_pan_fingerprints => :panFingerprints,
  p_fingerprint_key_versions => :fingerprintKeyVersions,
  p_encrypted_pans => :encryptedPans,
  p_personal_datas => :personalDatas,
  p_start_dates => :startDates,
  p_expiry_dates => :expiryDates,
  p_status_codes => :statusCodes,
  p_pin_blocks => :pinBlocks,
  p_pvvs => :pvvs,
  p_pin_keys => :pinKeys,
  p_cvks => :cvks,
  p_pin_try_limits => :pinTryLimits,
  p_cvv_try_limits => :cvvTryLimits,
  p_event_types => :eventTypes,
  p_request_ids => :requestIds,
  p_details => :details,
  p_notes => :notes,
  p_claimant_ids => :claimantIds,
  p_key_hashes => :keyHashes,
  p_request_fingerprints => :requestFingerprints,
  p_claim_ids => :claimIds,
  p_answers => :answers
) as done;

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
