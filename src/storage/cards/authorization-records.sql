-- Authorizations as they are kept. A scan is of as many rows as the longest page has, and one more
-- that shows whether there is a next one: 101.

-- name: list_authorizations_of_card
select record.public_token as "publicToken", record.authorization_id as "authorizationId",
  record.network_id as "networkId", record.request_id as "requestId", record.reference,
  record.entry_mode as "entryMode", record.response_code as "responseCode", record.checks,
  record.remaining_tries as "remainingTries", record.duration_ms as "durationMs",
  to_char(record.decided_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at"
from (
  select public_token, authorization_id, network_id, request_id, reference, entry_mode,
    response_code, checks, remaining_tries, duration_ms, decided_at
  from authorization_record
  where public_token = any(array[:publicToken])
    and (public_token, authorization_id) < (:publicToken, :before::uuid)
    and public_token >= :publicToken
  order by public_token desc, authorization_record.authorization_id desc
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
from authorization_record as record
where record.public_token = any(array[:publicToken])
  and record.authorization_id = :authorizationId::uuid
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
  from authorization_record
  where (reference, authorization_id) < (:reference, :before::uuid) and reference >= :reference
  order by authorization_record.reference desc, authorization_record.authorization_id desc
  limit 101
) as record
order by record.authorization_id desc
limit :limit;

-- The list is materialized and joined row by row, so that no plan reads more than its rows.
-- name: prune_authorizations
with old as materialized (
  select public_token, authorization_id
  from authorization_record
  where decided_at < (select now() - make_interval(days => :days))
  order by decided_at
  limit :limit
)
delete from authorization_record
using old
where authorization_record.public_token = any(array[old.public_token])
  and authorization_record.authorization_id between old.authorization_id and old.authorization_id
  and now() - decided_at > make_interval(days => :days)
returning authorization_record.authorization_id as "authorizationId";
