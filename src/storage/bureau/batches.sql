-- The batches of the bureau.

-- The oldest orders. A plastic that has expired, or whose card was closed or retired, is no longer
-- made. An expired card has its renewal made, which waits.
-- name: list_orders
select ordered.public_token as "publicToken", ordered.plastic_number as "plasticNumber",
  card.retired_at is null
    and ordered.expiry_date >= :today
    and (
      card.status_code in ('02', '00', '62')
      or card.status_code = '54' and ordered.state = 'Waiting'
    ) as "isOpen"
from (
  select public_token, plastic_number, ordered_at, expiry_date, state
  from plastic
  where delivery_status = 'Ordered' and batch_id is null
  order by ordered_at, public_token
  limit :limit
) as ordered
join card on card.public_token = ordered.public_token
order by ordered.ordered_at, ordered.public_token;

-- name: take_plastics
select take_plastics(
  p_batch_id => :batchId,
  p_client_id => :clientId,
  p_public_tokens => :publicTokens,
  p_plastic_numbers => :plasticNumbers,
  p_now => :now
) as "taken";

-- name: find_batch
select batch_id::text as "batchId", taken_at as "takenAt", acknowledged_at as "acknowledgedAt"
from bureau_batch
where batch_id = :batchId and client_id = :clientId;

-- name: count_plastics_of_batch
select count(*)::integer as "count"
from plastic
where batch_id = :batchId;

-- name: acknowledge_batch
select acknowledge_batch(
  p_batch_id => :batchId,
  p_client_id => :clientId,
  p_now => :now
) as "isDone";

-- name: list_plastics_of_batch
select taken.public_token as "publicToken", taken.plastic_number as "plasticNumber",
  card.product_id as "productId", taken.card_type as "cardType", taken.reason,
  card.design_id as "designId", card.masked_pan as "maskedPan", taken.start_date as "startDate",
  taken.expiry_date as "expiryDate", taken.delivery_status as "deliveryStatus",
  taken.free_texts as "freeTexts", card.personal_data as "personalData"
from (
  select *
  from plastic
  where batch_id = :batchId
    and (public_token, plastic_number) > (:afterToken::text, :afterNumber::integer)
  order by public_token, plastic_number
  limit :limit
) as taken
join card on card.public_token = taken.public_token
order by taken.public_token, taken.plastic_number;
