-- A client's cards, newest first: the tokens of a page. Their records are read by records.sql.
--
-- Each scan of tokens reads one index backwards. Its bounds are row comparisons and its order names
-- all columns of the index, so that the planner can use no other index: among equal ones it would
-- take the smaller, and discard most of what it reads. The limit is a number, the longest page and
-- one row that shows whether a next page exists: for a parameter the planner would assume a tenth
-- of all cards, and sort them.

-- name: list_tokens
select public_token as "publicToken",
  to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from card
where (client_id, created_at, public_token)
    < (:clientId, :createdAt::timestamptz, :publicToken::text)
  and (client_id) >= (:clientId)
order by client_id desc, created_at desc, public_token desc
limit 101;

-- name: list_tokens_in_status
select public_token as "publicToken",
  to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from card
where (status_code, client_id, created_at, public_token)
    < (:statusCode, :clientId, :createdAt::timestamptz, :publicToken::text)
  and (status_code, client_id) >= (:statusCode, :clientId)
order by status_code desc, client_id desc, created_at desc, public_token desc
limit 101;

-- Scans each expiry separately.
-- name: list_tokens_of_unexpired
select listed_token as "publicToken",
  to_char(listed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from list_open_cards(
  p_client_id => :clientId,
  p_status_codes => array[:statusCode::text],
  p_from => :today::date,
  p_before => 'infinity',
  p_created_at => :createdAt::timestamptz,
  p_public_token => :publicToken::text
)
order by listed_at desc, listed_token desc
limit 101;

-- A cluster cannot scan each of several expiries: each node reads and discards expired cards.
-- name: list_tokens_of_unexpired_on_nodes
select public_token as "publicToken",
  to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from card
where (status_code, client_id, created_at, public_token)
    < (:statusCode, :clientId, :createdAt::timestamptz, :publicToken::text)
  and (status_code, client_id) >= (:statusCode, :clientId)
  and valid_until >= :today::date
order by status_code desc, client_id desc, created_at desc, public_token desc
limit 101;

-- Scans each expiry separately: cards that no sweep has expired yet, and expired cards.
-- name: list_tokens_of_expired
select public_token as "publicToken",
  to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from (
  (
    select listed_token as public_token, listed_at as created_at
    from list_open_cards(
      p_client_id => :clientId,
      p_status_codes => array['00', '02', '62'],
      p_from => '-infinity',
      p_before => :today::date,
      p_created_at => :createdAt::timestamptz,
      p_public_token => :publicToken::text
    )
    order by listed_at desc, listed_token desc
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
) as scanned
order by created_at desc, public_token desc
limit 101;

-- name: list_tokens_of_expired_on_nodes
select public_token as "publicToken",
  to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from (
  (
    select public_token, created_at
    from card
    where (status_code, client_id, created_at, public_token)
        < ('00', :clientId, :createdAt::timestamptz, :publicToken::text)
      and (status_code, client_id) >= ('00', :clientId)
      and valid_until < :today::date
    order by status_code desc, client_id desc, created_at desc, public_token desc
    limit 101
  ) union all (
    select public_token, created_at
    from card
    where (status_code, client_id, created_at, public_token)
        < ('02', :clientId, :createdAt::timestamptz, :publicToken::text)
      and (status_code, client_id) >= ('02', :clientId)
      and valid_until < :today::date
    order by status_code desc, client_id desc, created_at desc, public_token desc
    limit 101
  ) union all (
    select public_token, created_at
    from card
    where (status_code, client_id, created_at, public_token)
        < ('62', :clientId, :createdAt::timestamptz, :publicToken::text)
      and (status_code, client_id) >= ('62', :clientId)
      and valid_until < :today::date
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
) as scanned
order by created_at desc, public_token desc
limit 101;

-- Scans each status separately, in the order of the index. In all scans of a reference, `is not
-- null` is what allows the planner to use the partial index.
-- name: list_tokens_of_reference
select public_token as "publicToken",
  to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from (
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
) as scanned
order by created_at desc, public_token desc
limit 101;

-- name: list_tokens_of_reference_in_status
select public_token as "publicToken",
  to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from card
where (customer_reference, client_id, status_code, created_at, public_token)
    < (:customerReference, :clientId, :statusCode, :createdAt::timestamptz, :publicToken::text)
  and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, :statusCode)
  and customer_reference is not null
order by customer_reference desc, client_id desc, status_code desc, created_at desc,
  public_token desc
limit 101;

-- name: list_tokens_of_reference_unexpired
select public_token as "publicToken",
  to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from card
where (customer_reference, client_id, status_code, created_at, public_token)
    < (:customerReference, :clientId, :statusCode, :createdAt::timestamptz, :publicToken::text)
  and (customer_reference, client_id, status_code) >= (:customerReference, :clientId, :statusCode)
  and customer_reference is not null
  and valid_until >= :today::date
order by customer_reference desc, client_id desc, status_code desc, created_at desc,
  public_token desc
limit 101;

-- name: list_tokens_of_reference_expired
select public_token as "publicToken",
  to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from (
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
      and valid_until < :today::date
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
      and valid_until < :today::date
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
      and valid_until < :today::date
    order by customer_reference desc, client_id desc, status_code desc, created_at desc,
      public_token desc
    limit 101
  )
) as scanned
order by created_at desc, public_token desc
limit 101;

-- name: list_tokens_of_type
select public_token as "publicToken",
  to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from card
where (card_type, client_id, created_at, public_token)
    < (:cardType, :clientId, :createdAt::timestamptz, :publicToken::text)
  and (card_type, client_id) >= (:cardType, :clientId)
order by card_type desc, client_id desc, created_at desc, public_token desc
limit 101;

-- name: list_tokens_of_product_and_type
select public_token as "publicToken",
  to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from card
where (product_id, client_id, card_type, created_at, public_token)
    < (:productId, :clientId, :cardType, :createdAt::timestamptz, :publicToken::text)
  and (product_id, client_id, card_type) >= (:productId, :clientId, :cardType)
order by product_id desc, client_id desc, card_type desc, created_at desc, public_token desc
limit 101;

-- Scans each type separately, in the order of the index.
-- name: list_tokens_of_product
select public_token as "publicToken",
  to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from (
  (
    select public_token, created_at
    from card
    where (product_id, client_id, card_type, created_at, public_token)
        < (:productId, :clientId, 'Physical', :createdAt::timestamptz, :publicToken::text)
      and (product_id, client_id, card_type) >= (:productId, :clientId, 'Physical')
    order by product_id desc, client_id desc, card_type desc, created_at desc, public_token desc
    limit 101
  ) union all (
    select public_token, created_at
    from card
    where (product_id, client_id, card_type, created_at, public_token)
        < (:productId, :clientId, 'Virtual', :createdAt::timestamptz, :publicToken::text)
      and (product_id, client_id, card_type) >= (:productId, :clientId, 'Virtual')
    order by product_id desc, client_id desc, card_type desc, created_at desc, public_token desc
    limit 101
  )
) as scanned
order by created_at desc, public_token desc
limit 101;

-- name: list_tokens_of_metadata
select public_token as "publicToken",
  to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from card_metadata
where (client_id, key, value, created_at, public_token)
    < (:clientId, :key, :value, :createdAt::timestamptz, :publicToken::text)
  and (client_id, key, value) >= (:clientId, :key, :value)
order by client_id desc, key desc, value desc, created_at desc, public_token desc
limit 101;

-- Scans each expiry separately.
-- name: list_tokens_expiring
select listed_token as "publicToken",
  to_char(listed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from list_open_cards(
  p_client_id => :clientId,
  p_status_codes => array['00', '02', '62'],
  p_from => :today::date,
  p_before => :expiringBefore::date,
  p_created_at => :createdAt::timestamptz,
  p_public_token => :publicToken::text
)
order by listed_at desc, listed_token desc
limit 101;

-- A cluster cannot scan each of several expiries: each node reads and discards other cards.
-- name: list_tokens_expiring_on_nodes
select public_token as "publicToken",
  to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
from card
where (client_id, created_at, public_token)
    < (:clientId, :createdAt::timestamptz, :publicToken::text)
  and (client_id) >= (:clientId)
  and valid_until >= :today::date and valid_until < :expiringBefore::date
  and status_code not in ('41', '43', '46', '54', '83')
order by client_id desc, created_at desc, public_token desc
limit 101;

-- Reads the next card in the order of the index, of any client: a card of another client shows
-- that the client has no such card.
-- name: find_oldest_card_expiry
select valid_until as "validUntil"
from (
  select client_id, valid_until
  from card
  where (client_id, valid_until) >= (:clientId, '-infinity')
    and status_code not in ('41', '43', '46', '54', '83')
  order by client_id, valid_until
  limit 1
) as next
where client_id = :clientId;
