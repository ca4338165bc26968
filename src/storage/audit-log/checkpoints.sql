-- Signed checkpoints of the audit log.

-- name: find_newest_audit_checkpoint
select size::float8 as "size", root, note, signed_at as "signedAt",
  (extract(epoch from clock_timestamp() - signed_at) * 1000)::float8 as "ageMs"
from audit_checkpoint
where log = :log
order by size desc
limit 1;

-- Signed again where its first note was lost on its way here, or a key has changed: of one size
-- there is one root.
-- name: insert_audit_checkpoint
insert into audit_checkpoint (log, size, root, note)
values (:log, :size, :root, :note)
on conflict (log, size) do update
set note = excluded.note, signed_at = excluded.signed_at
where audit_checkpoint.root = excluded.root;

-- Of each hour the last is kept, and with it the last of all.
-- name: thin_audit_checkpoints
delete from audit_checkpoint
where signed_at < now() - interval '1 day' and (log, size) not in (
  select log, max(size)
  from audit_checkpoint
  group by log, date_trunc('hour', signed_at, 'UTC')
);
