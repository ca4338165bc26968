-- The next plastic of a card: its renewal, a reprint or a conversion. The rules of the acts are in
-- database/functions/card-life.

-- A record of the card, as in records.sql, with its current plastic and its product's settings.
-- name: find_card_to_renew
select card.public_token as "publicToken", card.product_id as "productId",
  card.card_type as "cardType", card.customer_reference as "customerReference",
  card.design_id as "designId", card.masked_pan as "maskedPan",
  card.personal_data as "personalData", card.start_date as "startDate",
  card.expiry_date as "expiryDate", card.valid_until as "validUntil",
  card.status_code as "statusCode", card.created_at as "createdAt",
  coalesce(card.renewal_type, product.renewal_type) as "renewalType",
  card.retired_at is not null as "isRetired", card.replacement_for as "replacementFor",
  card.replaced_by as "replacedBy", pin.try_limit as "pinLimit", pin.spent as "pinSpent",
  pin.restored as "pinRestored", pin.is_withdrawn as "isPinWithdrawn",
  cvv.try_limit as "cvvLimit", cvv.spent as "cvvSpent", cvv.restored as "cvvRestored",
  cvv.is_withdrawn as "isCvvWithdrawn", waiting.plastic_number as "waitingNumber",
  waiting.expiry_date as "waitingExpiryDate", waiting.delivery_status as "waitingDelivery",
  noted.metadata as "metadata",
  card.plastic_number as "plasticNumber", card.is_plastic_inactive as "isPlasticInactive",
  present.delivery_status as "deliveryStatus", card.line_token as "lineToken", card.generation,
  card.last_plastic_number as "lastPlasticNumber",
  product.card_types as "productCardTypes", product.validity_months as "validityMonths",
  product.renewal_earliest_days as "renewalEarliestDays",
  product.renewal_grace_months as "renewalGraceMonths"
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
cross join lateral (
  select *
  from try_counter
  where public_token = any(array[:publicToken]) and kind = 'pin'
  limit 1
) as pin
cross join lateral (
  select *
  from try_counter
  where public_token = any(array[:publicToken]) and kind = 'cvv'
  limit 1
) as cvv
left join lateral (
  select delivery_status
  from plastic
  where public_token = any(array[:publicToken]) and state = 'Current'
  limit 1
) as present on true
left join lateral (
  select plastic_number, delivery_status, expiry_date
  from plastic
  where public_token = any(array[:publicToken]) and state = 'Waiting'
    and card.waiting_expiry_date is not null
  limit 1
) as waiting on true
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

-- name: order_plastic
select order_plastic(
  p_public_token => :publicToken,
  p_client_id => :clientId,
  p_plastic_number => :plasticNumber,
  p_reason => :reason,
  p_is_current => :isCurrent,
  p_today => :today,
  p_expired_since => :expiredSince,
  p_expiry_date => :expiryDate,
  p_free_texts => :freeTexts,
  p_former_personal_data => :formerPersonalData,
  p_personal_data => :personalData,
  p_ends_reprint => false,
  p_renewal_job_id => null,
  p_request_id => :requestId,
  p_note => :note,
  p_operator_id => :operatorId,
  p_claimant_id => :claimantId,
  p_key_hashes => string_to_array(:keyHashes, ',')::bytea[],
  p_request_fingerprint => :requestFingerprint,
  p_claim_id => :claimId,
  p_answer => :answer
) as "isDone";

-- name: activate_plastic
select activate_plastic(
  p_public_token => :publicToken,
  p_client_id => :clientId,
  p_plastic_number => :plasticNumber,
  p_today => :today,
  p_request_id => :requestId,
  p_note => :note,
  p_operator_id => :operatorId,
  p_claimant_id => :claimantId,
  p_key_hashes => string_to_array(:keyHashes, ',')::bytea[],
  p_request_fingerprint => :requestFingerprint,
  p_claim_id => :claimId,
  p_answer => :answer
) as "isDone";

-- name: cancel_plastic
select cancel_plastic(
  p_public_token => :publicToken,
  p_client_id => :clientId,
  p_plastic_number => :plasticNumber,
  p_is_not_received => :isNotReceived,
  p_request_id => :requestId,
  p_note => :note,
  p_operator_id => :operatorId,
  p_claimant_id => :claimantId,
  p_key_hashes => string_to_array(:keyHashes, ',')::bytea[],
  p_request_fingerprint => :requestFingerprint,
  p_claim_id => :claimId,
  p_answer => :answer
) as "isDone";
