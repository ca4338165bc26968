-- Wrong expiries, in one row for each card and network. They are counted by
-- database/functions/authorizations/count-wrong-expiry.sql.

-- name: delete_old_wrong_expiries
select delete_old_wrong_expiries(p_limit => :limit) as "count";
