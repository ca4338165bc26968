-- Authorizations that were answered. A scan is of as many rows as the longest page has, and one more
-- that shows whether there is a next one: 101. Rows without an answer are passed over: they are in
-- work, their process was lost, or their CVV2 was tried next.

-- name: list_authorizations_of_card
select record.public_token as "publicToken", record.authorization_id as "authorizationId",
  record.network_id as "networkId", record.request_id as "requestId", record.reference,
  record.entry_mode as "entryMode", record.response_code as "responseCode", record.checks,
  record.remaining_tries as "remainingTries", record.duration_ms as "durationMs",
  to_char(record.decided_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at"
from (
  select public_token, authorization_id, network_id, request_id, reference, entry_mode,
    response_code, checks, remaining_tries, duration_ms, decided_at
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
  record.entry_mode as "entryMode", record.response_code as "responseCode", record.checks,
  record.remaining_tries as "remainingTries", record.duration_ms as "durationMs",
  to_char(record.decided_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at"
from authorization_request as record
where record.public_token = any(array[:publicToken])
  and record.authorization_id = :authorizationId::uuid and record.response_code is not null
limit 1;

-- name: search_authorizations
select record.public_token as "publicToken", record.authorization_id as "authorizationId",
  record.network_id as "networkId", record.request_id as "requestId", record.reference,
  record.entry_mode as "entryMode", record.response_code as "responseCode", record.checks,
  record.remaining_tries as "remainingTries", record.duration_ms as "durationMs",
  to_char(record.decided_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at"
from (
  select public_token, authorization_id, network_id, request_id, reference, entry_mode,
    response_code, checks, remaining_tries, duration_ms, decided_at
  from authorization_request
  where (reference, authorization_id) < (:reference, :before::uuid) and reference >= :reference
    and response_code is not null
  order by authorization_request.reference desc, authorization_request.authorization_id desc
  limit 101
) as record
order by record.authorization_id desc
limit :limit;

-- The list is materialized and joined row by row, so that no plan reads more than its rows. A try
-- that the audit log has yet to enter stays. Old ones are deleted when their day is over.
-- name: prune_authorizations
with old as materialized (
  select public_token, authorization_id
  from authorization_request
  where requested_at < (select date_trunc('day', now(), 'UTC') - make_interval(days => :days))
    and not to_enter
  order by requested_at
  limit :limit
)
delete from authorization_request
using old
where authorization_request.public_token = any(array[old.public_token])
  and authorization_request.authorization_id between old.authorization_id and old.authorization_id
  and now() - requested_at > make_interval(days => :days)
returning authorization_request.authorization_id as "authorizationId";
