-- Signed checkpoints of the audit log.

-- name: find_newest_audit_checkpoint
select size::float8 as "size", root, note, signed_at as "signedAt",
  (extract(epoch from clock_timestamp() - signed_at) * 1000)::float8 as "ageMs"
from audit_checkpoint
where log = :log
order by size desc
limit 1;

-- name: record_checkpoint
select record_checkpoint(p_log => :log, p_size => :size, p_root => :root, p_note => :note);

-- name: delete_old_checkpoints
select delete_old_checkpoints();
