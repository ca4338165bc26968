-- The search of operators over the cards of all clients, and the limits of cards.
--
-- A search is one scan backwards through the index that begins with the criterion: its bounds are
-- row comparisons, and its limit is a constant (the longest page, and one more), so that no plan
-- reads and sorts all results.

-- name: search_cards_by_last_four
select card.public_token as "publicToken", card.client_id as "clientId",
  card.product_id as "productId", card.card_type as "cardType",
  card.customer_reference as "customerReference", card.masked_pan as "maskedPan",
  card.start_date as "startDate", card.expiry_date as "expiryDate",
  card.valid_until as "validUntil",
  card.status_code as "statusCode",
  to_char(card.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "createdAt"
from (
  select public_token, client_id, product_id, card_type, customer_reference, masked_pan,
    start_date, expiry_date, valid_until, status_code, created_at
  from card
  where (right(masked_pan, 4), created_at, public_token)
      < (:value::text, :createdAt::timestamptz, :publicToken::text)
    and right(masked_pan, 4) >= :value::text
  order by right(masked_pan, 4) desc, card.created_at desc, card.public_token desc
  limit 101
) as card
order by card.created_at desc, card.public_token desc
limit :limit;

-- Only `is not null` shows the planner that the index contains all rows.
-- name: search_cards_by_reference
select card.public_token as "publicToken", card.client_id as "clientId",
  card.product_id as "productId", card.card_type as "cardType",
  card.customer_reference as "customerReference", card.masked_pan as "maskedPan",
  card.start_date as "startDate", card.expiry_date as "expiryDate",
  card.valid_until as "validUntil",
  card.status_code as "statusCode",
  to_char(card.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "createdAt"
from (
  select public_token, client_id, product_id, card_type, customer_reference, masked_pan,
    start_date, expiry_date, valid_until, status_code, created_at
  from card
  where (lower(customer_reference), created_at, public_token)
      < (lower(:value::text), :createdAt::timestamptz, :publicToken::text)
    and lower(customer_reference) >= lower(:value::text)
    and customer_reference is not null
  order by lower(customer_reference) desc, card.created_at desc, card.public_token desc
  limit 101
) as card
order by card.created_at desc, card.public_token desc
limit :limit;

-- name: find_cards_by_tokens
select card.public_token as "publicToken", card.client_id as "clientId",
  card.product_id as "productId", card.card_type as "cardType",
  card.customer_reference as "customerReference", card.masked_pan as "maskedPan",
  card.start_date as "startDate", card.expiry_date as "expiryDate",
  card.valid_until as "validUntil",
  card.status_code as "statusCode",
  to_char(card.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "createdAt"
from card
where card.public_token = any(:publicTokens::text[]);

-- name: list_limits_of_card
select limit_name as "limitName", newest_uses as "newestUses", array(
    select (extract(epoch from clock_timestamp()) - used / 1e6)::float8
    from unnest(last_uses) with ordinality as uses (used, at)
    order by at
  ) as "agesSeconds"
from card_limit
where public_token = :publicToken
order by limit_name;

-- name: list_limits_of_client
select limit_name as "limitName", newest_uses as "newestUses", array(
    select (extract(epoch from clock_timestamp()) - used / 1e6)::float8
    from unnest(last_uses) with ordinality as uses (used, at)
    order by at
  ) as "agesSeconds"
from client_limit
where client_id = :clientId
order by limit_name;

-- The reads of one card have the form of those in cards.sql.

-- name: find_card_of_any_client
select card.public_token as "publicToken", card.client_id as "clientId",
  card.product_id as "productId", card.card_type as "cardType",
  card.customer_reference as "customerReference", card.masked_pan as "maskedPan",
  card.start_date as "startDate", card.expiry_date as "expiryDate",
  card.valid_until as "validUntil",
  card.status_code as "statusCode",
  to_char(card.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "createdAt",
  card.design_id as "designId", card.line_token as "lineToken", client.client_name as "clientName",
  product.product_name as "productName", product.scheme_name as "schemeName",
  product.pin_revealable as "pinRevealable",
  coalesce(card.renewal_type, product.renewal_type) as "renewalType",
  card.retired_at is not null as "isRetired",
  pin.try_limit as "pinLimit", pin.spent as "pinSpent", pin.restored as "pinRestored",
  pin.is_withdrawn as "isPinWithdrawn", cvv.try_limit as "cvvLimit",
  cvv.spent as "cvvSpent", cvv.restored as "cvvRestored",
  cvv.is_withdrawn as "isCvvWithdrawn"
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
  from client
  where client_id = any(array[card.client_id])
  limit 1
) as client
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
) as cvv;

-- name: find_card_of_any_client_several
select asked.ordinal::integer as "ordinal", found.*
from unnest(:publicTokens::text[])
  with ordinality as asked (public_token, ordinal)
cross join lateral (
  select card.public_token as "publicToken", card.client_id as "clientId",
    card.product_id as "productId", card.card_type as "cardType",
    card.customer_reference as "customerReference", card.masked_pan as "maskedPan",
    card.start_date as "startDate", card.expiry_date as "expiryDate",
    card.valid_until as "validUntil",
    card.status_code as "statusCode",
    to_char(card.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "createdAt",
    card.design_id as "designId", card.line_token as "lineToken",
    client.client_name as "clientName", product.product_name as "productName",
    product.scheme_name as "schemeName",
    product.pin_revealable as "pinRevealable",
    coalesce(card.renewal_type, product.renewal_type) as "renewalType",
    card.retired_at is not null as "isRetired",
    pin.try_limit as "pinLimit", pin.spent as "pinSpent", pin.restored as "pinRestored",
    pin.is_withdrawn as "isPinWithdrawn", cvv.try_limit as "cvvLimit",
    cvv.spent as "cvvSpent", cvv.restored as "cvvRestored",
    cvv.is_withdrawn as "isCvvWithdrawn"
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
  cross join lateral (
    select *
    from client
    where client_id = any(array[card.client_id])
    limit 1
  ) as client
  cross join lateral (
    select *
    from try_counter
    where public_token = any(array[asked.public_token]) and kind = 'pin'
    limit 1
  ) as pin
  cross join lateral (
    select *
    from try_counter
    where public_token = any(array[asked.public_token]) and kind = 'cvv'
    limit 1
  ) as cvv
  limit 1
) as found;

-- name: find_owner_of_card
select client_id as "clientId"
from card
where public_token = any(array[:publicToken]);

-- name: find_owner_of_card_several
select asked.ordinal::integer as "ordinal", found.*
from unnest(:publicTokens::text[])
  with ordinality as asked (public_token, ordinal)
cross join lateral (
  select client_id as "clientId"
  from card
  where public_token = any(array[asked.public_token])
  limit 1
) as found;

-- name: find_sealed_names
select client_id as "clientId", personal_data as "personalData"
from card
where public_token = any(array[:publicToken]);

-- name: find_sealed_names_several
select asked.ordinal::integer as "ordinal", found.*
from unnest(:publicTokens::text[])
  with ordinality as asked (public_token, ordinal)
cross join lateral (
  select client_id as "clientId", personal_data as "personalData"
  from card
  where public_token = any(array[asked.public_token])
  limit 1
) as found;
