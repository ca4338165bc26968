-- Entries of the audit log about erasures.

-- name: list_audit_erasure_entries
select entry_index::float8 as "index", entry_id as "entryId", act, text
from audit_entry
where log = :log and entry_index >= :from::bigint and entry_index < :end::bigint
  and text is not null and act in ('erasure.requested', 'entries.erased')
order by entry_index;

-- name: list_blank_audit_entries
select entry_index::float8 as "index"
from audit_entry
where log = :log and entry_index >= :from::bigint and entry_index < :end::bigint and text is null
order by entry_index
limit :limit;
