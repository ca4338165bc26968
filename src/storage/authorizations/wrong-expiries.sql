-- Wrong expiries, in one row for each card and network.
-- database/functions/authorizations/count-wrong-expiry.sql counts them.

-- name: delete_old_wrong_expiries
select delete_old_wrong_expiries(p_limit => :limit) as "count";
