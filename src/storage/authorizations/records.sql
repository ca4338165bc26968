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

-- name: delete_old_authorizations
select delete_old_authorizations(p_days => :days, p_limit => :limit) as "count";
