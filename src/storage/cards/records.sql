-- The records of cards: the card, its tries, the plastic that waits, its metadata, and the cards
-- before and after it. All parts have the token of the card, so that one statement reads them.
--
-- The row of the card has the expiry of the plastic that waits: without one, plastics are not read.

-- It has the form of the reads in cards.sql.
-- name: find_card_record
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
  select *
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

-- name: find_card_record_several
select asked.ordinal::integer as "ordinal", found.*
from unnest(:publicTokens::text[], :clientIds::text[])
  with ordinality as asked (public_token, client_id, ordinal)
cross join lateral (
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
    noted.metadata as "metadata"
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
  left join lateral (
    select *
    from plastic
    where public_token = any(array[asked.public_token]) and state = 'Waiting'
      and card.waiting_expiry_date is not null
    limit 1
  ) as waiting on true
  cross join lateral (
    select json_object_agg(key, value order by key)::text as metadata
    from (
      select key, value
      from card_metadata
      where public_token = any(array[asked.public_token])
      limit 50
    ) as entry
  ) as noted
  where card.client_id = asked.client_id
  limit 1
) as found;

-- Reads each card, and each of its parts, through a key.
-- name: list_card_records
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
  noted.metadata as "metadata"
from unnest(:publicTokens::text[]) as page (public_token)
cross join lateral (
  select *
  from card
  where public_token = any(array[page.public_token])
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
  where public_token = any(array[page.public_token]) and kind = 'pin'
  limit 1
) as pin
cross join lateral (
  select *
  from try_counter
  where public_token = any(array[page.public_token]) and kind = 'cvv'
  limit 1
) as cvv
left join lateral (
  select *
  from plastic
  where public_token = any(array[page.public_token]) and state = 'Waiting'
    and card.waiting_expiry_date is not null
  limit 1
) as waiting on true
cross join lateral (
  select json_object_agg(key, value order by key)::text as metadata
  from (
    select key, value
    from card_metadata
    where public_token = any(array[page.public_token])
    limit 50
  ) as entry
) as noted
order by card.created_at desc, card.public_token desc;

-- A cluster cannot read each of several rows through its key: each node looks for all tokens. One
-- server reads the rows of other tokens again for each card then, if its statistics are stale.
-- name: list_card_records_on_nodes
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
  noted.metadata as "metadata"
from card
join product on product.product_id = card.product_id
join try_counter as pin on pin.public_token = card.public_token and pin.kind = 'pin'
join try_counter as cvv on cvv.public_token = card.public_token and cvv.kind = 'cvv'
left join plastic as waiting
  on waiting.public_token = card.public_token and waiting.state = 'Waiting'
  and waiting.public_token = any(:publicTokens::text[])
left join (
  select public_token, json_object_agg(key, value order by key)::text as metadata
  from card_metadata
  where public_token = any(:publicTokens::text[])
  group by public_token
) as noted on noted.public_token = card.public_token
where card.public_token = any(:publicTokens::text[])
  and pin.public_token = any(:publicTokens::text[])
  and cvv.public_token = any(:publicTokens::text[])
order by card.created_at desc, card.public_token desc;
