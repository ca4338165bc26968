-- Answered authorizations. A scan reads as many rows as the longest page has, and one more that
-- shows whether there is a next page: 101.

-- name: list_authorizations_of_card
select *
from (
  select *
  from answered_authorization
  where "publicToken" = any(array[:publicToken])
    and ("publicToken", "authorizationId") < (:publicToken, :before::uuid)
    and "publicToken" >= :publicToken
  order by "publicToken" desc, "authorizationId" desc
  limit 101
) as record
order by "authorizationId" desc
limit :limit;

-- name: find_authorization
select *
from answered_authorization
where "publicToken" = any(array[:publicToken]) and "authorizationId" = :authorizationId::uuid
limit 1;

-- name: list_authorizations_of_client
select *
from (
  select *
  from answered_authorization
  where ("clientId", "authorizationId") < (:clientId, :before::uuid) and "clientId" >= :clientId
  order by "clientId" desc, "authorizationId" desc
  limit 101
) as record
order by "authorizationId" desc
limit :limit;

-- name: find_authorization_of_client
select *
from answered_authorization
where "clientId" = :clientId and "authorizationId" = :authorizationId::uuid
limit 1;

-- name: search_authorizations
select *
from (
  select *
  from answered_authorization
  where (reference, "authorizationId") < (:reference, :before::uuid) and reference >= :reference
  order by reference desc, "authorizationId" desc
  limit 101
) as record
order by "authorizationId" desc
limit :limit;

-- A search reads windows of 1,000 keys, so that no statement reads more, and then the rows that it
-- shows.
-- name: list_newest_authorizations
select public_token as "publicToken", authorization_id as "authorizationId",
  response_code as "responseCode",
  to_char(requested_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "recordedAt"
from authorization_request
where (requested_at, authorization_id) < (:recordedAt::timestamptz, :authorizationId::uuid)
  and response_code is not null
order by requested_at desc, authorization_id desc
limit 1000;

-- name: list_newest_client_authorizations
select public_token as "publicToken", authorization_id as "authorizationId",
  response_code as "responseCode",
  to_char(requested_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "recordedAt"
from authorization_request
where (client_id, authorization_id) < (:clientId, :authorizationId::uuid)
  and client_id >= :clientId and response_code is not null
order by authorization_request.client_id desc, authorization_request.authorization_id desc
limit 1000;

-- The list is materialized and joined row by row, so that no plan reads more than its rows.
-- name: find_authorizations
with wanted as materialized (
  select public_token, authorization_id
  from unnest(:publicTokens::text[], :authorizationIds::uuid[])
    as wanted (public_token, authorization_id)
)
select answered_authorization.*
from wanted
join answered_authorization
  on "publicToken" = any(array[wanted.public_token])
  and "authorizationId" between wanted.authorization_id and wanted.authorization_id;

-- name: delete_old_authorizations
select delete_old_authorizations(p_days => :days, p_limit => :limit) as "count";
