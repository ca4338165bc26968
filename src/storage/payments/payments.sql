-- Payments as clients read them, with the description of the authorization that opened them. A scan
-- reads as many rows as the longest page has, and one more that shows whether there is a next page:
-- 101.

-- name: list_payments_of_card
select *
from (
  select *
  from described_payment
  where "publicToken" = any(array[:publicToken])
    and ("publicToken", "paymentId") < (:publicToken, :before::uuid)
    and "publicToken" >= :publicToken
  order by "publicToken" desc, "paymentId" desc
  limit 101
) as record
order by "paymentId" desc
limit :limit;

-- name: list_payments_of_client
select *
from (
  select *
  from described_payment
  where ("clientId", "paymentId") < (:clientId, :before::uuid) and "clientId" >= :clientId
  order by "clientId" desc, "paymentId" desc
  limit 101
) as record
order by "paymentId" desc
limit :limit;

-- name: find_payment_of_client
select *
from described_payment
where "clientId" = :clientId and "paymentId" = :paymentId::uuid
limit 1;

-- name: list_messages_of_payment
select message_id as "messageId", kind, effect, amount::double precision as "amount",
  applied::double precision as "applied", currency_code as "currencyCode",
  is_final as "isFinal", reference, merchant::text as "merchant",
  to_char(received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at"
from payment_message
where payment_id = :paymentId::uuid and public_token = :publicToken
order by position
limit :limit;

-- name: find_payment_of_card
select *
from described_payment
where "publicToken" = any(array[:publicToken]) and "paymentId" = :paymentId::uuid
limit 1;

-- An index by the id alone would cost every approval a write: an operator's search looks under each
-- client instead.
-- name: find_payment_of_any_client
select *
from described_payment
where "clientId" = any(array(select client_id from client)) and "paymentId" = :paymentId::uuid
limit 1;

-- name: search_payments_by_network_transaction
select *
from (
  select *
  from described_payment
  where ("networkTransactionId", "publicToken", "paymentId")
      > (:networkTransactionId::text, :publicToken::text, :paymentId::uuid)
    and "networkTransactionId" <= :networkTransactionId::text
  order by "networkTransactionId", "publicToken", "paymentId"
  limit 101
) as record
order by "publicToken", "paymentId"
limit :limit;

-- name: delete_old_payments
select delete_old_payments(p_days => :days, p_limit => :limit) as "count";
