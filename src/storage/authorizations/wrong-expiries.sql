-- Wrong expiries, in one row for each card and network. They are counted by
-- database/functions/authorizations/count-wrong-expiry.sql.

-- The list is materialized and joined row by row, so that no plan reads more than its rows.
-- name: prune_wrong_expiries
with old as materialized (
  select public_token, client_id
  from wrong_expiry
  where forget_on_day <= (select :day::integer)
  order by forget_on_day
  limit :limit
)
delete from wrong_expiry
using old
where wrong_expiry.public_token = any(array[old.public_token])
  and wrong_expiry.client_id between old.client_id and old.client_id
  and forget_on_day - :day <= 0
returning wrong_expiry.public_token as "publicToken";
