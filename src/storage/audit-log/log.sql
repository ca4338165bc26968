-- The audit logs, of which the last is the current one, and the hashes of their trees
-- (c2sp.org/tlog-tiles).

-- name: list_audit_logs
select log, origin, size::float8 as "size", predecessor_checkpoint as "predecessorCheckpoint",
  reason, began_at as "beganAt", closed_at as "closedAt", refusal
from audit_log
order by log desc
limit 1000;

-- name: find_audit_log
select log, origin, size::float8 as "size", predecessor_checkpoint as "predecessorCheckpoint",
  reason, began_at as "beganAt", closed_at as "closedAt", refusal
from audit_log
order by log desc
limit 1;

-- name: lock_audit_log
select log, origin, size::float8 as "size", predecessor_checkpoint as "predecessorCheckpoint",
  reason, began_at as "beganAt", closed_at as "closedAt", refusal
from lock_audit_log();

-- name: begin_audit_log
select begin_audit_log(
  p_log => :log,
  p_origin => :origin,
  p_predecessor_checkpoint => :predecessorCheckpoint,
  p_reason => :reason
) as "hasBegun";

-- Three counts, because a cluster can compute each of them on every shard.

-- name: count_published_creations
select count(*)::float8 as "count"
from published_event
where sequence = 1;

-- name: count_unpublished_creations
select count(*)::float8 as "count"
from event
where not published and sequence = 1;

-- name: count_cards
select count(*)::float8 as "count"
from card;

-- name: close_audit_log
select close_audit_log(p_log => :log);

-- name: set_audit_log_refusal
select set_audit_log_refusal(p_log => :log, p_refusal => :refusal);

-- name: find_audit_tile
select hashes
from audit_tile
where log = :log and level = :level and tile_index = :index;

-- name: find_audit_tiles
select tile.level, tile.tile_index::float8 as "index", hashes
from unnest(:levels::smallint[], :indexes::bigint[]) as asked (level, tile_index)
join audit_tile as tile
  on log = :log and tile.level = asked.level and tile.tile_index = asked.tile_index;
