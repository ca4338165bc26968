-- Reads of cards by key. A row is found through its key whatever size the planner expects: for one
-- row (limit 1) of a list of one key there is no better plan. The reads for several callers return
-- a row for each caller with a card, with the caller's ordinal.

-- name: find_card
select card.public_token as "publicToken", card.product_id as "productId",
  card.card_type as "cardType", card.customer_reference as "customerReference",
  card.design_id as "designId", card.masked_pan as "maskedPan",
  card.personal_data as "personalData", card.start_date as "startDate",
  card.expiry_date as "expiryDate", card.valid_until as "validUntil",
  card.status_code as "statusCode",
  card.created_at as "createdAt", card.line_token as "lineToken", card.generation as "generation",
  card.retired_at is not null as "isRetired",
  card.is_plastic_inactive as "isPlasticInactive"
from (
  select *
  from card
  where public_token = any(array[:publicToken])
  limit 1
) as card
where card.client_id = :clientId;

-- name: find_card_several
select asked.ordinal::integer as "ordinal", found.*
from unnest(:publicTokens::text[], :clientIds::text[])
  with ordinality as asked (public_token, client_id, ordinal)
cross join lateral (
  select card.public_token as "publicToken", card.product_id as "productId",
    card.card_type as "cardType", card.customer_reference as "customerReference",
    card.design_id as "designId", card.masked_pan as "maskedPan",
    card.personal_data as "personalData", card.start_date as "startDate",
    card.expiry_date as "expiryDate", card.valid_until as "validUntil",
    card.status_code as "statusCode",
    card.created_at as "createdAt", card.line_token as "lineToken",
    card.generation as "generation", card.retired_at is not null as "isRetired",
    card.is_plastic_inactive as "isPlasticInactive"
  from (
    select *
    from card
    where public_token = any(array[asked.public_token])
    limit 1
  ) as card
  where card.client_id = asked.client_id
  limit 1
) as found;

-- name: find_card_with_product
select card.public_token as "publicToken", card.product_id as "productId",
  card.card_type as "cardType", card.customer_reference as "customerReference",
  card.design_id as "designId", card.masked_pan as "maskedPan",
  card.personal_data as "personalData", card.start_date as "startDate",
  card.expiry_date as "expiryDate", card.valid_until as "validUntil",
  card.status_code as "statusCode",
  card.created_at as "createdAt", card.line_token as "lineToken", card.generation as "generation",
  card.retired_at is not null as "isRetired",
  card.is_plastic_inactive as "isPlasticInactive",
  card.encrypted_pan as "encryptedPan", card.pin_block as "pinBlock", card.pvv as "pvv",
  card.pin_key as "pinKey", card.cvk as "cvk", product.pin_length as "pinLength",
  product.pin_revealable as "pinRevealable", product.refuse_weak_pins as "refuseWeakPins",
  product.pvk as "pvk", card.card_type = 'Physical' and product.chip is not null as "hasChip"
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
where card.client_id = :clientId;

-- name: find_card_with_product_several
select asked.ordinal::integer as "ordinal", found.*
from unnest(:publicTokens::text[], :clientIds::text[])
  with ordinality as asked (public_token, client_id, ordinal)
cross join lateral (
  select card.public_token as "publicToken", card.product_id as "productId",
    card.card_type as "cardType", card.customer_reference as "customerReference",
    card.design_id as "designId", card.masked_pan as "maskedPan",
    card.personal_data as "personalData", card.start_date as "startDate",
    card.expiry_date as "expiryDate", card.valid_until as "validUntil",
    card.status_code as "statusCode",
    card.created_at as "createdAt", card.line_token as "lineToken",
    card.generation as "generation", card.retired_at is not null as "isRetired",
    card.is_plastic_inactive as "isPlasticInactive",
    card.encrypted_pan as "encryptedPan", card.pin_block as "pinBlock", card.pvv as "pvv",
    card.pin_key as "pinKey", card.cvk as "cvk", product.pin_length as "pinLength",
    product.pin_revealable as "pinRevealable", product.refuse_weak_pins as "refuseWeakPins",
    product.pvk as "pvk", card.card_type = 'Physical' and product.chip is not null as "hasChip"
  from (
    select *
    from card
    where public_token = any(array[asked.public_token])
    limit 1
  ) as card
  cross join lateral (
    select *
    from product
    where product_id = any(array[card.product_id])
    limit 1
  ) as product
  where card.client_id = asked.client_id
  limit 1
) as found;
