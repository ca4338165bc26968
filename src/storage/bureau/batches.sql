-- The batches of the bureau.

-- The oldest orders.
-- name: list_orders
select public_token as "publicToken", plastic_number as "plasticNumber",
  expiry_date as "expiryDate", state
from plastic
where delivery_status = 'Ordered' and batch_id is null
order by ordered_at, public_token
limit :limit;

-- The cards of plastics are read by themselves: a plan that joins them to plastics may read all
-- cards, and a cluster cannot read each of several rows through its key.
-- name: list_cards_of_plastics
select public_token as "publicToken", product_id as "productId", design_id as "designId",
  masked_pan as "maskedPan", status_code as "statusCode", retired_at is not null as "isRetired",
  personal_data as "personalData"
from card
where public_token = any(:publicTokens::text[]);

-- name: take_plastics
select take_plastics(
  p_batch_id => :batchId,
  p_client_id => :clientId,
  p_public_tokens => :publicTokens,
  p_plastic_numbers => :plasticNumbers,
  p_now => :now
) as "taken";

-- name: find_batch
select batch_id::text as "batchId", taken_at as "takenAt", acknowledged_at as "acknowledgedAt",
  plastic_count as "plasticCount"
from bureau_batch
where batch_id = :batchId and client_id = :clientId;

-- The order has all columns of the index, so that no plan reads and sorts all batches of a client.
-- name: list_batches
select batch_id::text as "batchId", taken_at as "takenAt", acknowledged_at as "acknowledgedAt",
  plastic_count as "plasticCount"
from bureau_batch
where (client_id, taken_at, batch_id)
    < (:clientId::text, :beforeTakenAt::timestamptz, :beforeBatchId::uuid)
  and (client_id) >= (:clientId::text)
order by client_id desc, taken_at desc, batch_id desc
limit :limit;

-- name: list_unacknowledged_batches
select batch_id::text as "batchId", taken_at as "takenAt", acknowledged_at as "acknowledgedAt",
  plastic_count as "plasticCount"
from bureau_batch
where (client_id, taken_at, batch_id)
    < (:clientId::text, :beforeTakenAt::timestamptz, :beforeBatchId::uuid)
  and (client_id) >= (:clientId::text)
  and acknowledged_at is null
order by client_id desc, taken_at desc, batch_id desc
limit :limit;

-- name: acknowledge_batch
select acknowledge_batch(
  p_batch_id => :batchId,
  p_client_id => :clientId,
  p_now => :now
) as "isDone";

-- The order has all columns of the index, so that no plan reads and sorts the whole batch.
-- name: list_plastics_of_batch
select public_token as "publicToken", plastic_number as "plasticNumber", card_type as "cardType",
  reason, start_date as "startDate", expiry_date as "expiryDate",
  delivery_status as "deliveryStatus", free_texts as "freeTexts"
from plastic
where (batch_id, public_token, plastic_number)
    > (:batchId::uuid, :afterToken::text, :afterNumber::integer)
  and (batch_id) <= (:batchId::uuid)
  and batch_id is not null
order by batch_id, public_token, plastic_number
limit :limit;
