-- Recorded authorizations as a back-test of spending controls decides them again: what their
-- controls see, in the order of their ids, which is that of their arrival. Both ends are ids, and
-- the last row of a page is the beginning of the next one.
--
-- Row comparisons bound both ends in the index.

-- name: list_decided_of_card
select "publicToken", "authorizationId", "entryMode", "transactionType", "amount", "currency",
  "cashCharge", "merchantId", "categoryCode", "country", "responseCode", "approvedAmount",
  "control"
from decided_authorization
where ("publicToken", "authorizationId") > (:publicToken, :after::uuid)
  and ("publicToken", "authorizationId") < (:publicToken, :until::uuid)
order by "publicToken", "authorizationId"
limit 1000;

-- name: list_decided_of_client
select "publicToken", "authorizationId", "entryMode", "transactionType", "amount", "currency",
  "cashCharge", "merchantId", "categoryCode", "country", "responseCode", "approvedAmount",
  "control"
from decided_authorization
where ("clientId", "authorizationId") > (:clientId, :after::uuid)
  and ("clientId", "authorizationId") < (:clientId, :until::uuid)
order by "clientId", "authorizationId"
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
