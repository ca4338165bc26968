-- Old decisions.

-- name: delete_old_decisions
select delete_old_decisions(p_days => :days, p_limit => :limit) as "count";
