-- Cards of all clients, as operators look for them, and their limits.
--
-- A search is one scan backwards through the index that begins with what is looked for: its bounds
-- are row comparisons, and its limit is a number (that of the longest page, and one more), so that
-- no plan reads all that is found and sorts it.

-- name: search_cards_by_last_four
select card.public_token as "publicToken", card.client_id as "clientId",
  card.product_id as "productId", card.card_type as "cardType",
  card.customer_reference as "customerReference", card.masked_pan as "maskedPan",
  card.start_date as "startDate", card.expiry_date as "expiryDate",
  card.status_code as "statusCode",
  to_char(card.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "createdAt"
from (
  select public_token, client_id, product_id, card_type, customer_reference, masked_pan,
    start_date, expiry_date, status_code, created_at
  from card
  where (right(masked_pan, 4), created_at, public_token)
      < (:value::text, :createdAt::timestamptz, :publicToken::text)
    and right(masked_pan, 4) >= :value::text
  order by right(masked_pan, 4) desc, card.created_at desc, card.public_token desc
  limit 101
) as card
order by card.created_at desc, card.public_token desc
limit :limit;

-- Nothing but `is not null` shows the planner that the index has them all.
-- name: search_cards_by_reference
select card.public_token as "publicToken", card.client_id as "clientId",
  card.product_id as "productId", card.card_type as "cardType",
  card.customer_reference as "customerReference", card.masked_pan as "maskedPan",
  card.start_date as "startDate", card.expiry_date as "expiryDate",
  card.status_code as "statusCode",
  to_char(card.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "createdAt"
from (
  select public_token, client_id, product_id, card_type, customer_reference, masked_pan,
    start_date, expiry_date, status_code, created_at
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
