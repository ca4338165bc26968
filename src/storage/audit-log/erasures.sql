-- Erasures of the texts of entries, and the progress of each.

-- name: insert_audit_erasure
insert into audit_erasure (kind, subject, reason, requested_by, approved_by)
values (:kind, :subject, :reason, :requestedBy, :approvedBy)
on conflict do nothing
returning erasure_id as "erasureId", kind, subject, reason, requested_at as "requestedAt",
  requested_by as "requestedBy", approved_by as "approvedBy", request_act as "requestAct",
  log, next_index::float8 as "nextIndex", pending_act as "pendingAct", pending_log as "pendingLog",
  pending_from::float8[] as "pendingFrom", pending_to::float8[] as "pendingTo",
  erased::float8 as "erased", finished_at as "finishedAt";

-- name: set_audit_erasure_request
update audit_erasure
set request_act = :actId::uuid
where erasure_id = :erasureId::uuid;

-- name: find_audit_erasure
select erasure_id as "erasureId", kind, subject, reason, requested_at as "requestedAt",
  requested_by as "requestedBy", approved_by as "approvedBy", request_act as "requestAct",
  log, next_index::float8 as "nextIndex", pending_act as "pendingAct", pending_log as "pendingLog",
  pending_from::float8[] as "pendingFrom", pending_to::float8[] as "pendingTo",
  erased::float8 as "erased", finished_at as "finishedAt"
from audit_erasure
where erasure_id = :erasureId::uuid;

-- name: list_audit_erasures
select erasure_id as "erasureId", kind, subject, reason, requested_at as "requestedAt",
  requested_by as "requestedBy", approved_by as "approvedBy", request_act as "requestAct",
  log, next_index::float8 as "nextIndex", pending_act as "pendingAct", pending_log as "pendingLog",
  pending_from::float8[] as "pendingFrom", pending_to::float8[] as "pendingTo",
  erased::float8 as "erased", finished_at as "finishedAt"
from audit_erasure
where erasure_id = any(:erasureIds::uuid[]);

-- name: list_unfinished_audit_erasures
select erasure_id as "erasureId", kind, subject, reason, requested_at as "requestedAt",
  requested_by as "requestedBy", approved_by as "approvedBy", request_act as "requestAct",
  log, next_index::float8 as "nextIndex", pending_act as "pendingAct", pending_log as "pendingLog",
  pending_from::float8[] as "pendingFrom", pending_to::float8[] as "pendingTo",
  erased::float8 as "erased", finished_at as "finishedAt"
from audit_erasure
where finished_at is null
order by requested_at
limit :limit;

-- name: lock_audit_erasure
select erasure_id as "erasureId", kind, subject, reason, requested_at as "requestedAt",
  requested_by as "requestedBy", approved_by as "approvedBy", request_act as "requestAct",
  log, next_index::float8 as "nextIndex", pending_act as "pendingAct", pending_log as "pendingLog",
  pending_from::float8[] as "pendingFrom", pending_to::float8[] as "pendingTo",
  erased::float8 as "erased", finished_at as "finishedAt"
from audit_erasure
where erasure_id = :erasureId::uuid and finished_at is null
for update skip locked;

-- name: find_first_young_audit_entry
select entry_index::float8 as "index"
from audit_entry
where log = :log and entry_index >= :from::bigint and entry_index < :end::bigint
  and entered_at >= now() - make_interval(days => :days)
order by entry_index
limit 1;

-- name: find_audit_entries_to_erase
select min(entry_index)::float8 as "from", max(entry_index)::float8 as "to"
from (
  select entry_index, entry_index - row_number() over (order by entry_index) as island
  from audit_entry
  where log = :log and entry_index >= :from::bigint and entry_index < :end::bigint
    and text is not null
    and split_part(act, '.', 1) <> all(:keptGroups::text[])
    and case :kind
      when 'card' then public_token = :subject
      when 'client' then client_id = :subject
      else true
    end
    and (client_id is null or client_id <> all(:parties::text[]))
) as due
group by island
order by 1
limit :limit;

-- name: advance_audit_erasure
update audit_erasure
set log = :log, next_index = :nextIndex::bigint, pending_act = :pendingAct::uuid,
  pending_log = case when :pendingAct::uuid is not null then :pendingLog::integer end,
  pending_from = :pendingFrom::bigint[], pending_to = :pendingTo::bigint[]
where erasure_id = :erasureId::uuid;

-- name: erase_audit_entries
select erase_audit_entries(p_log => :log, p_from => :from, p_to => :to) as "erased";

-- name: settle_audit_erasure
update audit_erasure
set erased = erased + :erased::bigint, pending_act = null, pending_log = null, pending_from = '{}',
  pending_to = '{}'
where erasure_id = :erasureId::uuid and pending_act = :pendingAct::uuid;

-- name: finish_audit_erasure
update audit_erasure
set finished_at = clock_timestamp(), subject = null
where erasure_id = :erasureId::uuid
  and clock_timestamp() - requested_at > make_interval(secs => :afterSeconds)
returning 1 as "one";

-- name: end_audit_erasure
update audit_erasure
set finished_at = clock_timestamp(), subject = null
where erasure_id = :erasureId::uuid;
