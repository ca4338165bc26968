-- Answered authorizations. A scan reads as many rows as the longest page has, and one more that
-- shows whether there is a next page: 101. Rows without an answer are skipped: they are in
-- progress, their process was lost, or their CVV2 was tried next.

-- name: list_authorizations_of_card
select record.public_token as "publicToken", record.authorization_id as "authorizationId",
  record.network_id as "networkId", record.request_id as "requestId", record.reference,
  record.entry_mode as "entryMode", record.transaction_type as "transactionType",
  record.amount::double precision as "amount", record.currency_code as "currencyCode",
  record.merchant::text as "merchant",
  record.network_transaction_id as "networkTransactionId",
  record.response_code as "responseCode", record.checks,
  record.remaining_tries as "remainingTries", record.duration_ms as "durationMs",
  to_char(record.decided_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at"
from (
  select public_token, authorization_id, network_id, request_id, reference, entry_mode,
    transaction_type, amount, currency_code, merchant, network_transaction_id, response_code,
    checks, remaining_tries, duration_ms, decided_at
  from authorization_request
  where public_token = any(array[:publicToken])
    and (public_token, authorization_id) < (:publicToken, :before::uuid)
    and public_token >= :publicToken and response_code is not null
  order by public_token desc, authorization_request.authorization_id desc
  limit 101
) as record
order by record.authorization_id desc
limit :limit;

-- name: find_authorization
select record.public_token as "publicToken", record.authorization_id as "authorizationId",
  record.network_id as "networkId", record.request_id as "requestId", record.reference,
  record.entry_mode as "entryMode", record.transaction_type as "transactionType",
  record.amount::double precision as "amount", record.currency_code as "currencyCode",
  record.merchant::text as "merchant",
  record.network_transaction_id as "networkTransactionId",
  record.response_code as "responseCode", record.checks,
  record.remaining_tries as "remainingTries", record.duration_ms as "durationMs",
  to_char(record.decided_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at"
from authorization_request as record
where record.public_token = any(array[:publicToken])
  and record.authorization_id = :authorizationId::uuid and record.response_code is not null
limit 1;

-- name: list_authorizations_of_client
select record.public_token as "publicToken", record.authorization_id as "authorizationId",
  record.network_id as "networkId", record.request_id as "requestId", record.reference,
  record.entry_mode as "entryMode", record.transaction_type as "transactionType",
  record.amount::double precision as "amount", record.currency_code as "currencyCode",
  record.merchant::text as "merchant",
  record.network_transaction_id as "networkTransactionId",
  record.response_code as "responseCode", record.checks,
  record.remaining_tries as "remainingTries", record.duration_ms as "durationMs",
  to_char(record.decided_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at"
from (
  select public_token, authorization_id, network_id, request_id, reference, entry_mode,
    transaction_type, amount, currency_code, merchant, network_transaction_id, response_code,
    checks, remaining_tries, duration_ms, decided_at
  from authorization_request
  where (client_id, authorization_id) < (:clientId, :before::uuid) and client_id >= :clientId
    and response_code is not null
  order by authorization_request.client_id desc, authorization_request.authorization_id desc
  limit 101
) as record
order by record.authorization_id desc
limit :limit;

-- name: find_authorization_of_client
select record.public_token as "publicToken", record.authorization_id as "authorizationId",
  record.network_id as "networkId", record.request_id as "requestId", record.reference,
  record.entry_mode as "entryMode", record.transaction_type as "transactionType",
  record.amount::double precision as "amount", record.currency_code as "currencyCode",
  record.merchant::text as "merchant",
  record.network_transaction_id as "networkTransactionId",
  record.response_code as "responseCode", record.checks,
  record.remaining_tries as "remainingTries", record.duration_ms as "durationMs",
  to_char(record.decided_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at"
from authorization_request as record
where record.client_id = :clientId and record.authorization_id = :authorizationId::uuid
  and record.response_code is not null
limit 1;

-- name: search_authorizations
select record.public_token as "publicToken", record.authorization_id as "authorizationId",
  record.network_id as "networkId", record.request_id as "requestId", record.reference,
  record.entry_mode as "entryMode", record.transaction_type as "transactionType",
  record.amount::double precision as "amount", record.currency_code as "currencyCode",
  record.merchant::text as "merchant",
  record.network_transaction_id as "networkTransactionId",
  record.response_code as "responseCode", record.checks,
  record.remaining_tries as "remainingTries", record.duration_ms as "durationMs",
  to_char(record.decided_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at"
from (
  select public_token, authorization_id, network_id, request_id, reference, entry_mode,
    transaction_type, amount, currency_code, merchant, network_transaction_id, response_code,
    checks, remaining_tries, duration_ms, decided_at
  from authorization_request
  where (reference, authorization_id) < (:reference, :before::uuid) and reference >= :reference
    and response_code is not null
  order by authorization_request.reference desc, authorization_request.authorization_id desc
  limit 101
) as record
order by record.authorization_id desc
limit :limit;

-- name: delete_old_authorizations
select delete_old_authorizations(p_days => :days, p_limit => :limit) as "count";
