-- Products, and which clients may issue cards of them.

-- name: list_granted_products
select product_id as "productId", product_name as "productName", scheme_name as "schemeName",
  currency_code as "currencyCode", card_types as "cardTypes", validity_months as "validityMonths",
  pin_length as "pinLength", pin_revealable as "pinRevealable", pin_try_limit as "pinTryLimit",
  cvv_try_limit as "cvvTryLimit", renewal_type as "renewalType",
  renewal_earliest_days as "renewalEarliestDays", renewal_lead_days as "renewalLeadDays",
  renewal_grace_months as "renewalGraceMonths"
from product
join client_product using (product_id)
where client_id = :clientId and active and product_id > :afterProductId
  and (:cardType::text is null or :cardType = any(card_types))
  and (:currencyCode::text is null or currency_code = :currencyCode)
order by product_id
limit :limit;

-- name: insert_product
insert into product
  (product_id, product_name, scheme_name, bin, currency_code, card_types, validity_months,
    pin_length, pin_revealable, refuse_weak_pins, pin_try_limit, cvv_try_limit, cvk, pvk, active,
    chip, renewal_type, renewal_earliest_days, renewal_lead_days, renewal_grace_months)
values (:productId, :productName, :schemeName, :bin, :currencyCode, :cardTypes, :validityMonths,
  :pinLength, :pinRevealable, :refuseWeakPins, :pinTryLimit, :cvvTryLimit, :cvk, :pvk, :active,
  :chip::text::jsonb, :renewalType, :renewalEarliestDays, :renewalLeadDays, :renewalGraceMonths)
on conflict (product_id) do nothing;

-- name: list_all_products
select product_id as "productId", product_name as "productName", scheme_name as "schemeName",
  currency_code as "currencyCode", card_types as "cardTypes", validity_months as "validityMonths",
  pin_length as "pinLength", pin_revealable as "pinRevealable", pin_try_limit as "pinTryLimit",
  cvv_try_limit as "cvvTryLimit", bin, refuse_weak_pins as "refuseWeakPins", cvk, pvk, active,
  chip, renewal_type as "renewalType", renewal_earliest_days as "renewalEarliestDays",
  renewal_lead_days as "renewalLeadDays", renewal_grace_months as "renewalGraceMonths"
from product
where product_id > :afterProductId
order by product_id
limit :limit;

-- name: find_product
select product_id as "productId", product_name as "productName", scheme_name as "schemeName",
  currency_code as "currencyCode", card_types as "cardTypes", validity_months as "validityMonths",
  pin_length as "pinLength", pin_revealable as "pinRevealable", pin_try_limit as "pinTryLimit",
  cvv_try_limit as "cvvTryLimit", bin, refuse_weak_pins as "refuseWeakPins", cvk, pvk, active,
  chip, renewal_type as "renewalType", renewal_earliest_days as "renewalEarliestDays",
  renewal_lead_days as "renewalLeadDays", renewal_grace_months as "renewalGraceMonths"
from product
where product_id = :productId;

-- name: lock_product
select product_id as "productId", product_name as "productName", scheme_name as "schemeName",
  currency_code as "currencyCode", card_types as "cardTypes", validity_months as "validityMonths",
  pin_length as "pinLength", pin_revealable as "pinRevealable", pin_try_limit as "pinTryLimit",
  cvv_try_limit as "cvvTryLimit", bin, refuse_weak_pins as "refuseWeakPins", cvk, pvk, active,
  chip, renewal_type as "renewalType", renewal_earliest_days as "renewalEarliestDays",
  renewal_lead_days as "renewalLeadDays", renewal_grace_months as "renewalGraceMonths"
from product
where product_id = :productId
for no key update;

-- A transaction that creates a card locks one of these rows. Cards that are created later see
-- another version.
-- name: lock_grants_of_product
update client_product
set product_version = :version
where product_id = :productId;

-- name: update_product
update product
set product_name = :productName, scheme_name = :schemeName, bin = :bin,
  currency_code = :currencyCode, card_types = :cardTypes, validity_months = :validityMonths,
  pin_length = :pinLength, pin_revealable = :pinRevealable, refuse_weak_pins = :refuseWeakPins,
  pin_try_limit = :pinTryLimit, cvv_try_limit = :cvvTryLimit, cvk = :cvk, pvk = :pvk,
  active = :active, chip = :chip::text::jsonb, renewal_type = :renewalType,
  renewal_earliest_days = :renewalEarliestDays, renewal_lead_days = :renewalLeadDays,
  renewal_grace_months = :renewalGraceMonths
where product_id = :productId;

-- name: find_overlapping_product
select product_id as "productId"
from product
where product_id <> :productId and (starts_with(bin, :bin) or starts_with(:bin, bin))
order by product_id
limit 1;

-- The next card in the order of its index. Without it, the planner would scan the table for any
-- card of a product, as if one came soon.
-- name: has_cards_of_product
select exists (
  select
  from (
    select product_id
    from card
    where product_id >= :productId
    order by product_id
    limit 1
  ) as next
  where product_id = :productId
) as "hasCards";

-- Products are few: an operator adds each.
-- name: find_product_of_chip_keys
select product_id as "productId"
from product
where chip is not null and :keyVersion::integer = any(
  array(
    select version::integer
    from jsonb_each_text(chip -> 'keyVersions') as listed (index, version)
  )
)
order by product_id
limit 1;

-- name: list_known_product_ids
select product_id as "productId"
from product
where product_id = any(:productIds::integer[]);

-- name: grant_product
insert into client_product (client_id, product_id)
values (:clientId, :productId)
on conflict (client_id, product_id) do nothing;

-- name: revoke_product
delete from client_product
where client_id = :clientId and product_id = :productId;

-- name: find_granted_product
select product_id as "productId", product_name as "productName", scheme_name as "schemeName",
  currency_code as "currencyCode", card_types as "cardTypes",
  validity_months as "validityMonths", pin_length as "pinLength",
  pin_revealable as "pinRevealable", pin_try_limit as "pinTryLimit",
  cvv_try_limit as "cvvTryLimit", bin as "bin", refuse_weak_pins as "refuseWeakPins",
  cvk as "cvk", pvk as "pvk", active as "active", product_version as "version"
from product
join client_product using (product_id)
where client_id = :clientId and product_id = :productId and active;

-- name: find_granted_product_several
select asked.ordinal::integer as "ordinal", found.*
from unnest(:clientIds::text[], :productIds::integer[])
  with ordinality as asked (client_id, product_id, ordinal)
cross join lateral (
  select product_id as "productId", product_name as "productName", scheme_name as "schemeName",
    currency_code as "currencyCode", card_types as "cardTypes",
    validity_months as "validityMonths", pin_length as "pinLength",
    pin_revealable as "pinRevealable", pin_try_limit as "pinTryLimit",
    cvv_try_limit as "cvvTryLimit", bin as "bin", refuse_weak_pins as "refuseWeakPins",
    cvk as "cvk", pvk as "pvk", active as "active", product_version as "version"
  from product
  join client_product using (product_id)
  where client_id = asked.client_id and product_id = asked.product_id and active
  limit 1
) as found;
