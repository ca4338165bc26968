-- The parts of card records that are no columns of a card's row: metadata, the plastic that waits,
-- and the places in the line.

-- Reads each card, and each of its parts, through a key.
-- name: list_record_parts
select card.public_token as "publicToken",
  coalesce(card.renewal_type, product.renewal_type) as "renewalType",
  card.retired_at is not null as "isRetired",
  waiting.plastic_number as "waitingNumber", waiting.expiry_date as "waitingExpiryDate",
  waiting.delivery_status as "waitingDelivery", replaced.replaced_token as "replacementFor",
  successor.successor_token as "replacedBy", noted.metadata as "metadata"
from unnest(:publicTokens::text[]) as page (public_token)
cross join lateral (
  select public_token, product_id, line_token, generation, renewal_type, retired_at
  from card
  where public_token = any(array[page.public_token])
  limit 1
) as card
cross join lateral (
  select renewal_type
  from product
  where product_id = any(array[card.product_id])
  limit 1
) as product
left join lateral (
  select plastic_number, expiry_date, delivery_status
  from plastic
  where public_token = any(array[page.public_token]) and state = 'Waiting'
  limit 1
) as waiting on true
left join lateral (
  select replaced_token
  from card_line
  where public_token = any(array[card.line_token]) and generation = card.generation
  limit 1
) as replaced on true
left join lateral (
  select successor_token
  from card_line
  where public_token = any(array[card.line_token]) and generation > card.generation
    and replaced_token = card.public_token
  order by generation desc
  limit 1
) as successor on true
cross join lateral (
  select json_object_agg(entry.key, entry.value order by entry.key)::text as metadata
  from (
    select key, value
    from card_metadata
    where public_token = any(array[page.public_token])
    limit 50
  ) as entry
) as noted;

-- A cluster cannot read each of several rows through its key: each node looks for all tokens. The
-- line of a card has the token of its first card, so it is read by itself.
-- name: list_record_parts_on_nodes
select card.public_token as "publicToken",
  coalesce(card.renewal_type, product.renewal_type) as "renewalType",
  card.retired_at is not null as "isRetired",
  waiting.plastic_number as "waitingNumber", waiting.expiry_date as "waitingExpiryDate",
  waiting.delivery_status as "waitingDelivery", card.line_token as "lineToken",
  noted.metadata as "metadata"
from card
join product on product.product_id = card.product_id
left join plastic as waiting
  on waiting.public_token = card.public_token and waiting.state = 'Waiting'
left join (
  select public_token, json_object_agg(key, value order by key)::text as metadata
  from card_metadata
  where public_token = any(:publicTokens::text[])
  group by public_token
) as noted on noted.public_token = card.public_token
where card.public_token = any(:publicTokens::text[]);

-- name: list_successions
select successor_token as "successorToken", replaced_token as "replacedToken"
from card_line
where public_token = any(:lineTokens::text[])
order by public_token, generation;
