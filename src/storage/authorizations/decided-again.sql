-- Recorded authorizations as a back-test of spending controls decides them again: what their
-- controls see, in the order of their ids, which is that of their arrival. Both ends are ids, and
-- the last row of a page is the beginning of the next one.
--
-- "cashCharge" is that of findCashCharge (src/domain/transaction.ts), rounded up without a fraction.
--
-- Row comparisons bound both ends in the index. "control" is the one that declined: only the last
-- check can have objected.

-- name: list_decided_of_card
select public_token as "publicToken", authorization_id as "authorizationId",
  entry_mode as "entryMode", transaction_type as "transactionType",
  coalesce(billing_amount, amount)::double precision as "amount",
  coalesce(billing_currency_code, currency_code) as "currency",
  (case
    when billing_amount is null or amount = 0 then cashback_amount
    else div(cashback_amount::numeric * billing_amount + amount - 1, amount)
  end)::double precision as "cashCharge",
  merchant ->> 'id' as "merchantId", merchant ->> 'categoryCode' as "categoryCode",
  merchant ->> 'country' as "country", response_code as "responseCode",
  approved_amount::double precision as "approvedAmount",
  case
    when response_code in ('00', '10') then null
    when response_code = checks::jsonb -> -1 ->> 'responseCode'
    then checks::jsonb -> -1 ->> 'control'
  end as "control"
from authorization_request
where (public_token, authorization_id) > (:publicToken, :after::uuid)
  and (public_token, authorization_id) < (:publicToken, :until::uuid)
  and response_code is not null
order by public_token, authorization_id
limit 1000;

-- name: list_decided_of_client
select public_token as "publicToken", authorization_id as "authorizationId",
  entry_mode as "entryMode", transaction_type as "transactionType",
  coalesce(billing_amount, amount)::double precision as "amount",
  coalesce(billing_currency_code, currency_code) as "currency",
  (case
    when billing_amount is null or amount = 0 then cashback_amount
    else div(cashback_amount::numeric * billing_amount + amount - 1, amount)
  end)::double precision as "cashCharge",
  merchant ->> 'id' as "merchantId", merchant ->> 'categoryCode' as "categoryCode",
  merchant ->> 'country' as "country", response_code as "responseCode",
  approved_amount::double precision as "approvedAmount",
  case
    when response_code in ('00', '10') then null
    when response_code = checks::jsonb -> -1 ->> 'responseCode'
    then checks::jsonb -> -1 ->> 'control'
  end as "control"
from authorization_request
where (client_id, authorization_id) > (:clientId, :after::uuid)
  and (client_id, authorization_id) < (:clientId, :until::uuid)
  and response_code is not null
order by client_id, authorization_id
limit 1000;

-- name: find_next_client
select client_id as "clientId"
from client
where client_id > :after
order by client_id
limit 1;

-- The product does not narrow the search: its index would be a way to all of its cards.
-- name: list_decided_cards
select public_token as "publicToken", product_id as "productId",
  (
    select own.controls::text
    from card_controls as own
    where own.public_token = card.public_token and own.version = card.controls_version
  ) as "controls"
from card
where public_token = any(:publicTokens::text[]);
