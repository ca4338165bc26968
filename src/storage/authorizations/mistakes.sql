-- Mistakes, in one row for each card and network.
-- database/functions/authorizations/count-mistake.sql counts them.

-- name: delete_old_mistakes
select delete_old_mistakes(p_limit => :limit) as "count";
