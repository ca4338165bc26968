-- A client's cards, newest first. A page is read in two forms: one server comes by each of its
-- cards through their keys; a cluster, which has no such scan for each of several rows, has each
-- node look for all tokens of the page (`…_on_nodes`).
--
-- Each scan goes backwards through one index. Its bounds are row comparisons and its order names
-- all columns, so that no other index gives it: among equal ones the planner would take the
-- smaller, and throw away what it finds. Its limit is a number, that of the longest page and one
-- more that shows whether there is a next one: for a parameter the planner would reckon with a
-- tenth of all cards, and sort them.

-- name: list_cards
with scanned as (
  select public_token, created_at
  from card
  where (client_id, created_at, public_token)
      < (:clientId, :createdAt::timestamptz, :publicToken::text)
    and (client_id) >= (:clientId)
  order by client_id desc, created_at desc, public_token desc
  limit 101
), page as materialized (
  select public_token, created_at
  from scanned
  order by created_at desc, public_token desc
  limit :limit
)
select card.public_token as "publicToken", card.product_id as "productId",
  card.card_type as "cardType", card.customer_reference as "customerReference",
  card.design_id as "designId", card.masked_pan as "maskedPan",
  card.personal_data as "personalData", card.start_date as "startDate",
  card.expiry_date as "expiryDate", card.status_code as "statusCode",
  card.created_at as "createdAt",
  pin.try_limit as "pinLimit", pin.spent as "pinSpent", pin.restored as "pinRestored",
  pin.blocked_by_client as "pinBlockedByClient",
  cvv.try_limit as "cvvLimit", cvv.spent as "cvvSpent", cvv.restored as "cvvRestored",
  cvv.blocked_by_client as "cvvBlockedByClient",
  to_char(card.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from page
cross join lateral (
  select public_token, product_id, card_type, customer_reference, design_id, masked_pan,
    personal_data, start_date, expiry_date, status_code, created_at, client_id
  from card
  where public_token = any(array[page.public_token])
  limit 1
) as card
cross join lateral (
  select try_limit, spent, restored, blocked_by_client
  from try_counter
  where public_token = any(array[page.public_token]) and kind = 'pin'
  limit 1
) as pin
cross join lateral (
  select try_limit, spent, restored, blocked_by_client
  from try_counter
  where public_token = any(array[page.public_token]) and kind = 'cvv'
  limit 1
) as cvv
order by card.created_at desc, card.public_token desc;

-- name: list_cards_on_nodes
with scanned as (
  select public_token, created_at
  from card
  where (client_id, created_at, public_token)
      < (:clientId, :createdAt::timestamptz, :publicToken::text)
    and (client_id) >= (:clientId)
  order by client_id desc, created_at desc, public_token desc
  limit 101
), page as materialized (
  select public_token, created_at
  from scanned
  order by created_at desc, public_token desc
  limit :limit
)
select card.public_token as "publicToken", card.product_id as "productId",
  card.card_type as "cardType", card.customer_reference as "customerReference",
  card.design_id as "designId", card.masked_pan as "maskedPan",
  card.personal_data as "personalData", card.start_date as "startDate",
  card.expiry_date as "expiryDate", card.status_code as "statusCode",
  card.created_at as "createdAt",
  pin.try_limit as "pinLimit", pin.spent as "pinSpent", pin.restored as "pinRestored",
  pin.blocked_by_client as "pinBlockedByClient",
  cvv.try_limit as "cvvLimit", cvv.spent as "cvvSpent", cvv.restored as "cvvRestored",
  cvv.blocked_by_client as "cvvBlockedByClient",
  to_char(card.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from card
join try_counter pin on pin.public_token = card.public_token and pin.kind = 'pin'
join try_counter cvv on cvv.public_token = card.public_token and cvv.kind = 'cvv'
where card.public_token = any(array(select public_token from page))
  and pin.public_token = any(array(select public_token from page))
  and cvv.public_token = any(array(select public_token from page))
order by card.created_at desc, card.public_token desc;

-- name: list_cards_in_status
with scanned as (
  select public_token, created_at
  from card
  where (status_code, client_id, created_at, public_token)
      < (:statusCode, :clientId, :createdAt::timestamptz, :publicToken::text)
    and (status_code, client_id) >= (:statusCode, :clientId)
  order by status_code desc, client_id desc, created_at desc, public_token desc
  limit 101
), page as materialized (
  select public_token, created_at
  from scanned
  order by created_at desc, public_token desc
  limit :limit
)
select card.public_token as "publicToken", card.product_id as "productId",
  card.card_type as "cardType", card.customer_reference as "customerReference",
  card.design_id as "designId", card.masked_pan as "maskedPan",
  card.personal_data as "personalData", card.start_date as "startDate",
  card.expiry_date as "expiryDate", card.status_code as "statusCode",
  card.created_at as "createdAt",
  pin.try_limit as "pinLimit", pin.spent as "pinSpent", pin.restored as "pinRestored",
  pin.blocked_by_client as "pinBlockedByClient",
  cvv.try_limit as "cvvLimit", cvv.spent as "cvvSpent", cvv.restored as "cvvRestored",
  cvv.blocked_by_client as "cvvBlockedByClient",
  to_char(card.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from page
cross join lateral (
  select public_token, product_id, card_type, customer_reference, design_id, masked_pan,
    personal_data, start_date, expiry_date, status_code, created_at, client_id
  from card
  where public_token = any(array[page.public_token])
  limit 1
) as card
cross join lateral (
  select try_limit, spent, restored, blocked_by_client
  from try_counter
  where public_token = any(array[page.public_token]) and kind = 'pin'
  limit 1
) as pin
cross join lateral (
  select try_limit, spent, restored, blocked_by_client
  from try_counter
  where public_token = any(array[page.public_token]) and kind = 'cvv'
  limit 1
) as cvv
order by card.created_at desc, card.public_token desc;

-- name: list_cards_in_status_on_nodes
with scanned as (
  select public_token, created_at
  from card
  where (status_code, client_id, created_at, public_token)
      < (:statusCode, :clientId, :createdAt::timestamptz, :publicToken::text)
    and (status_code, client_id) >= (:statusCode, :clientId)
  order by status_code desc, client_id desc, created_at desc, public_token desc
  limit 101
), page as materialized (
  select public_token, created_at
  from scanned
  order by created_at desc, public_token desc
  limit :limit
)
select card.public_token as "publicToken", card.product_id as "productId",
  card.card_type as "cardType", card.customer_reference as "customerReference",
  card.design_id as "designId", card.masked_pan as "maskedPan",
  card.personal_data as "personalData", card.start_date as "startDate",
  card.expiry_date as "expiryDate", card.status_code as "statusCode",
  card.created_at as "createdAt",
  pin.try_limit as "pinLimit", pin.spent as "pinSpent", pin.restored as "pinRestored",
  pin.blocked_by_client as "pinBlockedByClient",
  cvv.try_limit as "cvvLimit", cvv.spent as "cvvSpent", cvv.restored as "cvvRestored",
  cvv.blocked_by_client as "cvvBlockedByClient",
  to_char(card.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from card
join try_counter pin on pin.public_token = card.public_token and pin.kind = 'pin'
join try_counter cvv on cvv.public_token = card.public_token and cvv.kind = 'cvv'
where card.public_token = any(array(select public_token from page))
  and pin.public_token = any(array(select public_token from page))
  and cvv.public_token = any(array(select public_token from page))
order by card.created_at desc, card.public_token desc;

-- Each expiry by itself.
-- name: list_unexpired_cards
with scanned as (
  select scanned.public_token, scanned.created_at
  from unnest(:expiries::date[]) as asked (expiry_date)
  cross join unnest(array[:statusCode::text]) as allowed (status_code)
  cross join lateral (
    select public_token, created_at
    from card
    where (client_id, expiry_date, status_code, created_at, public_token)
        < (:clientId, asked.expiry_date, allowed.status_code,
          :createdAt::timestamptz, :publicToken::text)
      and (client_id, expiry_date, status_code)
        >= (:clientId, asked.expiry_date, allowed.status_code)
      and status_code in ('00', '02', '62')
    order by client_id desc, expiry_date desc, status_code desc, created_at desc,
      public_token desc
    limit 101
  ) as scanned
  order by scanned.created_at desc, scanned.public_token desc
  limit 101
), page as materialized (
  select public_token, created_at
  from scanned
  order by created_at desc, public_token desc
  limit :limit
)
select card.public_token as "publicToken", card.product_id as "productId",
  card.card_type as "cardType", card.customer_reference as "customerReference",
  card.design_id as "designId", card.masked_pan as "maskedPan",
  card.personal_data as "personalData", card.start_date as "startDate",
  card.expiry_date as "expiryDate", card.status_code as "statusCode",
  card.created_at as "createdAt",
  pin.try_limit as "pinLimit", pin.spent as "pinSpent", pin.restored as "pinRestored",
  pin.blocked_by_client as "pinBlockedByClient",
  cvv.try_limit as "cvvLimit", cvv.spent as "cvvSpent", cvv.restored as "cvvRestored",
  cvv.blocked_by_client as "cvvBlockedByClient",
  to_char(card.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from page
cross join lateral (
  select public_token, product_id, card_type, customer_reference, design_id, masked_pan,
    personal_data, start_date, expiry_date, status_code, created_at, client_id
  from card
  where public_token = any(array[page.public_token])
  limit 1
) as card
cross join lateral (
  select try_limit, spent, restored, blocked_by_client
  from try_counter
  where public_token = any(array[page.public_token]) and kind = 'pin'
  limit 1
) as pin
cross join lateral (
  select try_limit, spent, restored, blocked_by_client
  from try_counter
  where public_token = any(array[page.public_token]) and kind = 'cvv'
  limit 1
) as cvv
order by card.created_at desc, card.public_token desc;

-- A cluster has no scan for each of several expiries: each node passes its other cards one by one.
-- name: list_unexpired_cards_on_nodes
with scanned as (
  select public_token, created_at
  from card
  where (status_code, client_id, created_at, public_token)
      < (:statusCode, :clientId, :createdAt::timestamptz, :publicToken::text)
    and (status_code, client_id) >= (:statusCode, :clientId)
    and expiry_date >= :today::date
  order by status_code desc, client_id desc, created_at desc, public_token desc
  limit 101
), page as materialized (
  select public_token, created_at
  from scanned
  order by created_at desc, public_token desc
  limit :limit
)
select card.public_token as "publicToken", card.product_id as "productId",
  card.card_type as "cardType", card.customer_reference as "customerReference",
  card.design_id as "designId", card.masked_pan as "maskedPan",
  card.personal_data as "personalData", card.start_date as "startDate",
  card.expiry_date as "expiryDate", card.status_code as "statusCode",
  card.created_at as "createdAt",
  pin.try_limit as "pinLimit", pin.spent as "pinSpent", pin.restored as "pinRestored",
  pin.blocked_by_client as "pinBlockedByClient",
  cvv.try_limit as "cvvLimit", cvv.spent as "cvvSpent", cvv.restored as "cvvRestored",
  cvv.blocked_by_client as "cvvBlockedByClient",
  to_char(card.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from card
join try_counter pin on pin.public_token = card.public_token and pin.kind = 'pin'
join try_counter cvv on cvv.public_token = card.public_token and cvv.kind = 'cvv'
where card.public_token = any(array(select public_token from page))
  and pin.public_token = any(array(select public_token from page))
  and cvv.public_token = any(array(select public_token from page))
order by card.created_at desc, card.public_token desc;

-- Each expiry of cards that no sweep has ended by itself, and those that one has ended.
-- name: list_expired_cards
with scanned as (
  (
    select scanned.public_token, scanned.created_at
    from unnest(:expiries::date[]) as asked (expiry_date)
    cross join unnest(array['00', '02', '62']) as allowed (status_code)
    cross join lateral (
      select public_token, created_at
      from card
      where (client_id, expiry_date, status_code, created_at, public_token)
          < (:clientId, asked.expiry_date, allowed.status_code,
            :createdAt::timestamptz, :publicToken::text)
        and (client_id, expiry_date, status_code)
          >= (:clientId, asked.expiry_date, allowed.status_code)
        and status_code in ('00', '02', '62')
      order by client_id desc, expiry_date desc, status_code desc, created_at desc,
        public_token desc
      limit 101
    ) as scanned
    order by scanned.created_at desc, scanned.public_token desc
    limit 101
  ) union all (
    select public_token, created_at
    from card
    where (status_code, client_id, created_at, public_token)
        < ('54', :clientId, :createdAt::timestamptz, :publicToken::text)
      and (status_code, client_id) >= ('54', :clientId)
    order by status_code desc, client_id desc, created_at desc, public_token desc
    limit 101
  )
), page as materialized (
  select public_token, created_at
  from scanned
  order by created_at desc, public_token desc
  limit :limit
)
select card.public_token as "publicToken", card.product_id as "productId",
  card.card_type as "cardType", card.customer_reference as "customerReference",
  card.design_id as "designId", card.masked_pan as "maskedPan",
  card.personal_data as "personalData", card.start_date as "startDate",
  card.expiry_date as "expiryDate", card.status_code as "statusCode",
  card.created_at as "createdAt",
  pin.try_limit as "pinLimit", pin.spent as "pinSpent", pin.restored as "pinRestored",
  pin.blocked_by_client as "pinBlockedByClient",
  cvv.try_limit as "cvvLimit", cvv.spent as "cvvSpent", cvv.restored as "cvvRestored",
  cvv.blocked_by_client as "cvvBlockedByClient",
  to_char(card.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from page
cross join lateral (
  select public_token, product_id, card_type, customer_reference, design_id, masked_pan,
    personal_data, start_date, expiry_date, status_code, created_at, client_id
  from card
  where public_token = any(array[page.public_token])
  limit 1
) as card
cross join lateral (
  select try_limit, spent, restored, blocked_by_client
  from try_counter
  where public_token = any(array[page.public_token]) and kind = 'pin'
  limit 1
) as pin
cross join lateral (
  select try_limit, spent, restored, blocked_by_client
  from try_counter
  where public_token = any(array[page.public_token]) and kind = 'cvv'
  limit 1
) as cvv
order by card.created_at desc, card.public_token desc;

-- name: list_expired_cards_on_nodes
with scanned as (
  (
    select public_token, created_at
    from card
    where (status_code, client_id, created_at, public_token)
        < ('00', :clientId, :createdAt::timestamptz, :publicToken::text)
      and (status_code, client_id) >= ('00', :clientId)
      and expiry_date < :today::date
    order by status_code desc, client_id desc, created_at desc, public_token desc
    limit 101
  ) union all (
    select public_token, created_at
    from card
    where (status_code, client_id, created_at, public_token)
        < ('02', :clientId, :createdAt::timestamptz, :publicToken::text)
      and (status_code, client_id) >= ('02', :clientId)
      and expiry_date < :today::date
    order by status_code desc, client_id desc, created_at desc, public_token desc
    limit 101
  ) union all (
    select public_token, created_at
    from card
    where (status_code, client_id, created_at, public_token)
        < ('62', :clientId, :createdAt::timestamptz, :publicToken::text)
      and (status_code, client_id) >= ('62', :clientId)
      and expiry_date < :today::date
    order by status_code desc, client_id desc, created_at desc, public_token desc
    limit 101
  ) union all (
    select public_token, created_at
    from card
    where (status_code, client_id, created_at, public_token)
        < ('54', :clientId, :createdAt::timestamptz, :publicToken::text)
      and (status_code, client_id) >= ('54', :clientId)
    order by status_code desc, client_id desc, created_at desc, public_token desc
    limit 101
  )
), page as materialized (
  select public_token, created_at
  from scanned
  order by created_at desc, public_token desc
  limit :limit
)
select card.public_token as "publicToken", card.product_id as "productId",
  card.card_type as "cardType", card.customer_reference as "customerReference",
  card.design_id as "designId", card.masked_pan as "maskedPan",
  card.personal_data as "personalData", card.start_date as "startDate",
  card.expiry_date as "expiryDate", card.status_code as "statusCode",
  card.created_at as "createdAt",
  pin.try_limit as "pinLimit", pin.spent as "pinSpent", pin.restored as "pinRestored",
  pin.blocked_by_client as "pinBlockedByClient",
  cvv.try_limit as "cvvLimit", cvv.spent as "cvvSpent", cvv.restored as "cvvRestored",
  cvv.blocked_by_client as "cvvBlockedByClient",
  to_char(card.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from card
join try_counter pin on pin.public_token = card.public_token and pin.kind = 'pin'
join try_counter cvv on cvv.public_token = card.public_token and cvv.kind = 'cvv'
where card.public_token = any(array(select public_token from page))
  and pin.public_token = any(array(select public_token from page))
  and cvv.public_token = any(array(select public_token from page))
order by card.created_at desc, card.public_token desc;

-- A scan for each status: the index has them one after the other. In all scans of a reference
-- `is not null` shows the planner that the index has them all: nothing else does.
-- name: list_cards_of_reference
with scanned as (
  (
    select public_token, created_at
    from card
    where (customer_reference, client_id, status_code, created_at, public_token)
        < (:customerReference, :clientId, '00', :createdAt::timestamptz, :publicToken::text)
      and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, '00')
      and customer_reference is not null
    order by customer_reference desc, client_id desc, status_code desc, created_at desc,
      public_token desc
    limit 101
  ) union all (
    select public_token, created_at
    from card
    where (customer_reference, client_id, status_code, created_at, public_token)
        < (:customerReference, :clientId, '02', :createdAt::timestamptz, :publicToken::text)
      and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, '02')
      and customer_reference is not null
    order by customer_reference desc, client_id desc, status_code desc, created_at desc,
      public_token desc
    limit 101
  ) union all (
    select public_token, created_at
    from card
    where (customer_reference, client_id, status_code, created_at, public_token)
        < (:customerReference, :clientId, '41', :createdAt::timestamptz, :publicToken::text)
      and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, '41')
      and customer_reference is not null
    order by customer_reference desc, client_id desc, status_code desc, created_at desc,
      public_token desc
    limit 101
  ) union all (
    select public_token, created_at
    from card
    where (customer_reference, client_id, status_code, created_at, public_token)
        < (:customerReference, :clientId, '43', :createdAt::timestamptz, :publicToken::text)
      and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, '43')
      and customer_reference is not null
    order by customer_reference desc, client_id desc, status_code desc, created_at desc,
      public_token desc
    limit 101
  ) union all (
    select public_token, created_at
    from card
    where (customer_reference, client_id, status_code, created_at, public_token)
        < (:customerReference, :clientId, '46', :createdAt::timestamptz, :publicToken::text)
      and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, '46')
      and customer_reference is not null
    order by customer_reference desc, client_id desc, status_code desc, created_at desc,
      public_token desc
    limit 101
  ) union all (
    select public_token, created_at
    from card
    where (customer_reference, client_id, status_code, created_at, public_token)
        < (:customerReference, :clientId, '54', :createdAt::timestamptz, :publicToken::text)
      and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, '54')
      and customer_reference is not null
    order by customer_reference desc, client_id desc, status_code desc, created_at desc,
      public_token desc
    limit 101
  ) union all (
    select public_token, created_at
    from card
    where (customer_reference, client_id, status_code, created_at, public_token)
        < (:customerReference, :clientId, '62', :createdAt::timestamptz, :publicToken::text)
      and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, '62')
      and customer_reference is not null
    order by customer_reference desc, client_id desc, status_code desc, created_at desc,
      public_token desc
    limit 101
  ) union all (
    select public_token, created_at
    from card
    where (customer_reference, client_id, status_code, created_at, public_token)
        < (:customerReference, :clientId, '83', :createdAt::timestamptz, :publicToken::text)
      and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, '83')
      and customer_reference is not null
    order by customer_reference desc, client_id desc, status_code desc, created_at desc,
      public_token desc
    limit 101
  )
), page as materialized (
  select public_token, created_at
  from scanned
  order by created_at desc, public_token desc
  limit :limit
)
select card.public_token as "publicToken", card.product_id as "productId",
  card.card_type as "cardType", card.customer_reference as "customerReference",
  card.design_id as "designId", card.masked_pan as "maskedPan",
  card.personal_data as "personalData", card.start_date as "startDate",
  card.expiry_date as "expiryDate", card.status_code as "statusCode",
  card.created_at as "createdAt",
  pin.try_limit as "pinLimit", pin.spent as "pinSpent", pin.restored as "pinRestored",
  pin.blocked_by_client as "pinBlockedByClient",
  cvv.try_limit as "cvvLimit", cvv.spent as "cvvSpent", cvv.restored as "cvvRestored",
  cvv.blocked_by_client as "cvvBlockedByClient",
  to_char(card.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from page
cross join lateral (
  select public_token, product_id, card_type, customer_reference, design_id, masked_pan,
    personal_data, start_date, expiry_date, status_code, created_at, client_id
  from card
  where public_token = any(array[page.public_token])
  limit 1
) as card
cross join lateral (
  select try_limit, spent, restored, blocked_by_client
  from try_counter
  where public_token = any(array[page.public_token]) and kind = 'pin'
  limit 1
) as pin
cross join lateral (
  select try_limit, spent, restored, blocked_by_client
  from try_counter
  where public_token = any(array[page.public_token]) and kind = 'cvv'
  limit 1
) as cvv
order by card.created_at desc, card.public_token desc;

-- name: list_cards_of_reference_on_nodes
with scanned as (
  (
    select public_token, created_at
    from card
    where (customer_reference, client_id, status_code, created_at, public_token)
        < (:customerReference, :clientId, '00', :createdAt::timestamptz, :publicToken::text)
      and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, '00')
      and customer_reference is not null
    order by customer_reference desc, client_id desc, status_code desc, created_at desc,
      public_token desc
    limit 101
  ) union all (
    select public_token, created_at
    from card
    where (customer_reference, client_id, status_code, created_at, public_token)
        < (:customerReference, :clientId, '02', :createdAt::timestamptz, :publicToken::text)
      and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, '02')
      and customer_reference is not null
    order by customer_reference desc, client_id desc, status_code desc, created_at desc,
      public_token desc
    limit 101
  ) union all (
    select public_token, created_at
    from card
    where (customer_reference, client_id, status_code, created_at, public_token)
        < (:customerReference, :clientId, '41', :createdAt::timestamptz, :publicToken::text)
      and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, '41')
      and customer_reference is not null
    order by customer_reference desc, client_id desc, status_code desc, created_at desc,
      public_token desc
    limit 101
  ) union all (
    select public_token, created_at
    from card
    where (customer_reference, client_id, status_code, created_at, public_token)
        < (:customerReference, :clientId, '43', :createdAt::timestamptz, :publicToken::text)
      and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, '43')
      and customer_reference is not null
    order by customer_reference desc, client_id desc, status_code desc, created_at desc,
      public_token desc
    limit 101
  ) union all (
    select public_token, created_at
    from card
    where (customer_reference, client_id, status_code, created_at, public_token)
        < (:customerReference, :clientId, '46', :createdAt::timestamptz, :publicToken::text)
      and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, '46')
      and customer_reference is not null
    order by customer_reference desc, client_id desc, status_code desc, created_at desc,
      public_token desc
    limit 101
  ) union all (
    select public_token, created_at
    from card
    where (customer_reference, client_id, status_code, created_at, public_token)
        < (:customerReference, :clientId, '54', :createdAt::timestamptz, :publicToken::text)
      and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, '54')
      and customer_reference is not null
    order by customer_reference desc, client_id desc, status_code desc, created_at desc,
      public_token desc
    limit 101
  ) union all (
    select public_token, created_at
    from card
    where (customer_reference, client_id, status_code, created_at, public_token)
        < (:customerReference, :clientId, '62', :createdAt::timestamptz, :publicToken::text)
      and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, '62')
      and customer_reference is not null
    order by customer_reference desc, client_id desc, status_code desc, created_at desc,
      public_token desc
    limit 101
  ) union all (
    select public_token, created_at
    from card
    where (customer_reference, client_id, status_code, created_at, public_token)
        < (:customerReference, :clientId, '83', :createdAt::timestamptz, :publicToken::text)
      and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, '83')
      and customer_reference is not null
    order by customer_reference desc, client_id desc, status_code desc, created_at desc,
      public_token desc
    limit 101
  )
), page as materialized (
  select public_token, created_at
  from scanned
  order by created_at desc, public_token desc
  limit :limit
)
select card.public_token as "publicToken", card.product_id as "productId",
  card.card_type as "cardType", card.customer_reference as "customerReference",
  card.design_id as "designId", card.masked_pan as "maskedPan",
  card.personal_data as "personalData", card.start_date as "startDate",
  card.expiry_date as "expiryDate", card.status_code as "statusCode",
  card.created_at as "createdAt",
  pin.try_limit as "pinLimit", pin.spent as "pinSpent", pin.restored as "pinRestored",
  pin.blocked_by_client as "pinBlockedByClient",
  cvv.try_limit as "cvvLimit", cvv.spent as "cvvSpent", cvv.restored as "cvvRestored",
  cvv.blocked_by_client as "cvvBlockedByClient",
  to_char(card.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from card
join try_counter pin on pin.public_token = card.public_token and pin.kind = 'pin'
join try_counter cvv on cvv.public_token = card.public_token and cvv.kind = 'cvv'
where card.public_token = any(array(select public_token from page))
  and pin.public_token = any(array(select public_token from page))
  and cvv.public_token = any(array(select public_token from page))
order by card.created_at desc, card.public_token desc;

-- name: list_cards_of_reference_in_status
with scanned as (
  select public_token, created_at
  from card
  where (customer_reference, client_id, status_code, created_at, public_token)
      < (:customerReference, :clientId, :statusCode, :createdAt::timestamptz, :publicToken::text)
    and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, :statusCode)
    and customer_reference is not null
  order by customer_reference desc, client_id desc, status_code desc, created_at desc,
    public_token desc
  limit 101
), page as materialized (
  select public_token, created_at
  from scanned
  order by created_at desc, public_token desc
  limit :limit
)
select card.public_token as "publicToken", card.product_id as "productId",
  card.card_type as "cardType", card.customer_reference as "customerReference",
  card.design_id as "designId", card.masked_pan as "maskedPan",
  card.personal_data as "personalData", card.start_date as "startDate",
  card.expiry_date as "expiryDate", card.status_code as "statusCode",
  card.created_at as "createdAt",
  pin.try_limit as "pinLimit", pin.spent as "pinSpent", pin.restored as "pinRestored",
  pin.blocked_by_client as "pinBlockedByClient",
  cvv.try_limit as "cvvLimit", cvv.spent as "cvvSpent", cvv.restored as "cvvRestored",
  cvv.blocked_by_client as "cvvBlockedByClient",
  to_char(card.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from page
cross join lateral (
  select public_token, product_id, card_type, customer_reference, design_id, masked_pan,
    personal_data, start_date, expiry_date, status_code, created_at, client_id
  from card
  where public_token = any(array[page.public_token])
  limit 1
) as card
cross join lateral (
  select try_limit, spent, restored, blocked_by_client
  from try_counter
  where public_token = any(array[page.public_token]) and kind = 'pin'
  limit 1
) as pin
cross join lateral (
  select try_limit, spent, restored, blocked_by_client
  from try_counter
  where public_token = any(array[page.public_token]) and kind = 'cvv'
  limit 1
) as cvv
order by card.created_at desc, card.public_token desc;

-- name: list_cards_of_reference_in_status_on_nodes
with scanned as (
  select public_token, created_at
  from card
  where (customer_reference, client_id, status_code, created_at, public_token)
      < (:customerReference, :clientId, :statusCode, :createdAt::timestamptz, :publicToken::text)
    and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, :statusCode)
    and customer_reference is not null
  order by customer_reference desc, client_id desc, status_code desc, created_at desc,
    public_token desc
  limit 101
), page as materialized (
  select public_token, created_at
  from scanned
  order by created_at desc, public_token desc
  limit :limit
)
select card.public_token as "publicToken", card.product_id as "productId",
  card.card_type as "cardType", card.customer_reference as "customerReference",
  card.design_id as "designId", card.masked_pan as "maskedPan",
  card.personal_data as "personalData", card.start_date as "startDate",
  card.expiry_date as "expiryDate", card.status_code as "statusCode",
  card.created_at as "createdAt",
  pin.try_limit as "pinLimit", pin.spent as "pinSpent", pin.restored as "pinRestored",
  pin.blocked_by_client as "pinBlockedByClient",
  cvv.try_limit as "cvvLimit", cvv.spent as "cvvSpent", cvv.restored as "cvvRestored",
  cvv.blocked_by_client as "cvvBlockedByClient",
  to_char(card.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from card
join try_counter pin on pin.public_token = card.public_token and pin.kind = 'pin'
join try_counter cvv on cvv.public_token = card.public_token and cvv.kind = 'cvv'
where card.public_token = any(array(select public_token from page))
  and pin.public_token = any(array(select public_token from page))
  and cvv.public_token = any(array(select public_token from page))
order by card.created_at desc, card.public_token desc;

-- name: list_unexpired_cards_of_reference
with scanned as (
  select public_token, created_at
  from card
  where (customer_reference, client_id, status_code, created_at, public_token)
      < (:customerReference, :clientId, :statusCode, :createdAt::timestamptz, :publicToken::text)
    and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, :statusCode)
    and customer_reference is not null
    and expiry_date >= :today::date
  order by customer_reference desc, client_id desc, status_code desc, created_at desc,
    public_token desc
  limit 101
), page as materialized (
  select public_token, created_at
  from scanned
  order by created_at desc, public_token desc
  limit :limit
)
select card.public_token as "publicToken", card.product_id as "productId",
  card.card_type as "cardType", card.customer_reference as "customerReference",
  card.design_id as "designId", card.masked_pan as "maskedPan",
  card.personal_data as "personalData", card.start_date as "startDate",
  card.expiry_date as "expiryDate", card.status_code as "statusCode",
  card.created_at as "createdAt",
  pin.try_limit as "pinLimit", pin.spent as "pinSpent", pin.restored as "pinRestored",
  pin.blocked_by_client as "pinBlockedByClient",
  cvv.try_limit as "cvvLimit", cvv.spent as "cvvSpent", cvv.restored as "cvvRestored",
  cvv.blocked_by_client as "cvvBlockedByClient",
  to_char(card.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from page
cross join lateral (
  select public_token, product_id, card_type, customer_reference, design_id, masked_pan,
    personal_data, start_date, expiry_date, status_code, created_at, client_id
  from card
  where public_token = any(array[page.public_token])
  limit 1
) as card
cross join lateral (
  select try_limit, spent, restored, blocked_by_client
  from try_counter
  where public_token = any(array[page.public_token]) and kind = 'pin'
  limit 1
) as pin
cross join lateral (
  select try_limit, spent, restored, blocked_by_client
  from try_counter
  where public_token = any(array[page.public_token]) and kind = 'cvv'
  limit 1
) as cvv
order by card.created_at desc, card.public_token desc;

-- name: list_unexpired_cards_of_reference_on_nodes
with scanned as (
  select public_token, created_at
  from card
  where (customer_reference, client_id, status_code, created_at, public_token)
      < (:customerReference, :clientId, :statusCode, :createdAt::timestamptz, :publicToken::text)
    and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, :statusCode)
    and customer_reference is not null
    and expiry_date >= :today::date
  order by customer_reference desc, client_id desc, status_code desc, created_at desc,
    public_token desc
  limit 101
), page as materialized (
  select public_token, created_at
  from scanned
  order by created_at desc, public_token desc
  limit :limit
)
select card.public_token as "publicToken", card.product_id as "productId",
  card.card_type as "cardType", card.customer_reference as "customerReference",
  card.design_id as "designId", card.masked_pan as "maskedPan",
  card.personal_data as "personalData", card.start_date as "startDate",
  card.expiry_date as "expiryDate", card.status_code as "statusCode",
  card.created_at as "createdAt",
  pin.try_limit as "pinLimit", pin.spent as "pinSpent", pin.restored as "pinRestored",
  pin.blocked_by_client as "pinBlockedByClient",
  cvv.try_limit as "cvvLimit", cvv.spent as "cvvSpent", cvv.restored as "cvvRestored",
  cvv.blocked_by_client as "cvvBlockedByClient",
  to_char(card.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from card
join try_counter pin on pin.public_token = card.public_token and pin.kind = 'pin'
join try_counter cvv on cvv.public_token = card.public_token and cvv.kind = 'cvv'
where card.public_token = any(array(select public_token from page))
  and pin.public_token = any(array(select public_token from page))
  and cvv.public_token = any(array(select public_token from page))
order by card.created_at desc, card.public_token desc;

-- name: list_expired_cards_of_reference
with scanned as (
  (
    select public_token, created_at
    from card
    where (customer_reference, client_id, status_code, created_at, public_token)
        < (:customerReference, :clientId, '54', :createdAt::timestamptz, :publicToken::text)
      and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, '54')
      and customer_reference is not null
    order by customer_reference desc, client_id desc, status_code desc, created_at desc,
      public_token desc
    limit 101
  ) union all (
    select public_token, created_at
    from card
    where (customer_reference, client_id, status_code, created_at, public_token)
        < (:customerReference, :clientId, '00', :createdAt::timestamptz, :publicToken::text)
      and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, '00')
      and customer_reference is not null
      and expiry_date < :today::date
    order by customer_reference desc, client_id desc, status_code desc, created_at desc,
      public_token desc
    limit 101
  ) union all (
    select public_token, created_at
    from card
    where (customer_reference, client_id, status_code, created_at, public_token)
        < (:customerReference, :clientId, '02', :createdAt::timestamptz, :publicToken::text)
      and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, '02')
      and customer_reference is not null
      and expiry_date < :today::date
    order by customer_reference desc, client_id desc, status_code desc, created_at desc,
      public_token desc
    limit 101
  ) union all (
    select public_token, created_at
    from card
    where (customer_reference, client_id, status_code, created_at, public_token)
        < (:customerReference, :clientId, '62', :createdAt::timestamptz, :publicToken::text)
      and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, '62')
      and customer_reference is not null
      and expiry_date < :today::date
    order by customer_reference desc, client_id desc, status_code desc, created_at desc,
      public_token desc
    limit 101
  )
), page as materialized (
  select public_token, created_at
  from scanned
  order by created_at desc, public_token desc
  limit :limit
)
select card.public_token as "publicToken", card.product_id as "productId",
  card.card_type as "cardType", card.customer_reference as "customerReference",
  card.design_id as "designId", card.masked_pan as "maskedPan",
  card.personal_data as "personalData", card.start_date as "startDate",
  card.expiry_date as "expiryDate", card.status_code as "statusCode",
  card.created_at as "createdAt",
  pin.try_limit as "pinLimit", pin.spent as "pinSpent", pin.restored as "pinRestored",
  pin.blocked_by_client as "pinBlockedByClient",
  cvv.try_limit as "cvvLimit", cvv.spent as "cvvSpent", cvv.restored as "cvvRestored",
  cvv.blocked_by_client as "cvvBlockedByClient",
  to_char(card.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from page
cross join lateral (
  select public_token, product_id, card_type, customer_reference, design_id, masked_pan,
    personal_data, start_date, expiry_date, status_code, created_at, client_id
  from card
  where public_token = any(array[page.public_token])
  limit 1
) as card
cross join lateral (
  select try_limit, spent, restored, blocked_by_client
  from try_counter
  where public_token = any(array[page.public_token]) and kind = 'pin'
  limit 1
) as pin
cross join lateral (
  select try_limit, spent, restored, blocked_by_client
  from try_counter
  where public_token = any(array[page.public_token]) and kind = 'cvv'
  limit 1
) as cvv
order by card.created_at desc, card.public_token desc;

-- name: list_expired_cards_of_reference_on_nodes
with scanned as (
  (
    select public_token, created_at
    from card
    where (customer_reference, client_id, status_code, created_at, public_token)
        < (:customerReference, :clientId, '54', :createdAt::timestamptz, :publicToken::text)
      and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, '54')
      and customer_reference is not null
    order by customer_reference desc, client_id desc, status_code desc, created_at desc,
      public_token desc
    limit 101
  ) union all (
    select public_token, created_at
    from card
    where (customer_reference, client_id, status_code, created_at, public_token)
        < (:customerReference, :clientId, '00', :createdAt::timestamptz, :publicToken::text)
      and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, '00')
      and customer_reference is not null
      and expiry_date < :today::date
    order by customer_reference desc, client_id desc, status_code desc, created_at desc,
      public_token desc
    limit 101
  ) union all (
    select public_token, created_at
    from card
    where (customer_reference, client_id, status_code, created_at, public_token)
        < (:customerReference, :clientId, '02', :createdAt::timestamptz, :publicToken::text)
      and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, '02')
      and customer_reference is not null
      and expiry_date < :today::date
    order by customer_reference desc, client_id desc, status_code desc, created_at desc,
      public_token desc
    limit 101
  ) union all (
    select public_token, created_at
    from card
    where (customer_reference, client_id, status_code, created_at, public_token)
        < (:customerReference, :clientId, '62', :createdAt::timestamptz, :publicToken::text)
      and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, '62')
      and customer_reference is not null
      and expiry_date < :today::date
    order by customer_reference desc, client_id desc, status_code desc, created_at desc,
      public_token desc
    limit 101
  )
), page as materialized (
  select public_token, created_at
  from scanned
  order by created_at desc, public_token desc
  limit :limit
)
select card.public_token as "publicToken", card.product_id as "productId",
  card.card_type as "cardType", card.customer_reference as "customerReference",
  card.design_id as "designId", card.masked_pan as "maskedPan",
  card.personal_data as "personalData", card.start_date as "startDate",
  card.expiry_date as "expiryDate", card.status_code as "statusCode",
  card.created_at as "createdAt",
  pin.try_limit as "pinLimit", pin.spent as "pinSpent", pin.restored as "pinRestored",
  pin.blocked_by_client as "pinBlockedByClient",
  cvv.try_limit as "cvvLimit", cvv.spent as "cvvSpent", cvv.restored as "cvvRestored",
  cvv.blocked_by_client as "cvvBlockedByClient",
  to_char(card.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from card
join try_counter pin on pin.public_token = card.public_token and pin.kind = 'pin'
join try_counter cvv on cvv.public_token = card.public_token and cvv.kind = 'cvv'
where card.public_token = any(array(select public_token from page))
  and pin.public_token = any(array(select public_token from page))
  and cvv.public_token = any(array(select public_token from page))
order by card.created_at desc, card.public_token desc;

-- Of the next card in the order of the index, of any client: that of another client shows
-- that there is none.
-- name: find_next_card_expiry
select expiry_date as "expiryDate"
from (
  select client_id, expiry_date
  from card
  where (client_id, expiry_date) > (:clientId, :after::date) and status_code in ('00', '02', '62')
  order by client_id, expiry_date
  limit 1
) as next
where client_id = :clientId;
