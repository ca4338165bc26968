-- Requests that wait for a stream of their client.

-- Endpoints without a URL only: what goes to a URL is on no stream.
-- name: list_waiting_requests
select decision.public_token as "publicToken", decision.decision_id as "decisionId",
  decision.client_id as "clientId", decision.sequence, decision.purpose, decision.facts,
  decision.held_amount::double precision as "heldAmount",
  decision.held_currency_code as "heldCurrencyCode", decision.deadline,
  decision.endpoint_product_id as "endpointProductId",
  decision.endpoint_version as "endpointVersion", endpoint.format,
  endpoint.api_version as "apiVersion",
  (extract(epoch from clock_timestamp() - decision.asked_at) * 1000)::double precision as "ageMs",
  (extract(epoch from decision.deadline - decision.asked_at) * 1000)::double precision
    as "timeoutMs"
from decision
join decision_endpoint endpoint
  on endpoint.client_id = decision.client_id
    and endpoint.product_id = decision.endpoint_product_id
    and endpoint.version = decision.endpoint_version
where decision.client_id = any(:clientIds) and decision.concluded_at is null
  and decision.called_answer is null and decision.taken_by is null
  and decision.deadline > now() and endpoint.url is null
order by decision.deadline
limit :limit;

-- Of several streams that take a request at once, one gets it.
-- name: take_requests
update decision
set taken_by = :holder
where public_token = any(:publicTokens) and decision_id = any(:decisionIds::uuid[])
  and concluded_at is null and called_answer is null and taken_by is null
returning decision_id as "decisionId";

-- name: give_requests_back
update decision
set taken_by = null
where public_token = any(:publicTokens) and decision_id = any(:decisionIds::uuid[])
  and concluded_at is null and called_answer is null and taken_by = :holder;

-- name: find_request_progress
select taken_by is not null as "isTaken", called_answer is not null as "isAnswered"
from decision
where public_token = :publicToken and decision_id = :decisionId::uuid;
