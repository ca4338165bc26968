-- Approved requests, each executed by one worker at a time.

-- The list is materialized and joined row by row, so that no plan reads more than its rows.
-- name: claim_approval
with due as materialized (
  select approval_id
  from approval
  where state = 'approved' and due_at <= (select clock_timestamp())
  order by due_at
  limit 1
)
update approval
set holder = :holder::uuid, attempts = attempts + 1,
  due_at = clock_timestamp() + interval '60 seconds'
from due
where approval.approval_id = any(array[due.approval_id])
  and state = 'approved' and clock_timestamp() - due_at >= interval '0'
returning approval.approval_id::text as "approvalId", attempts,
  clock_timestamp() - decided_at > interval '12 hours' as "isTooOld";

-- name: defer_approval
update approval
set due_at = clock_timestamp() + make_interval(secs => :seconds)
where approval_id = :approvalId::uuid and state = 'approved' and holder = :holder::uuid
returning 1 as "one";

-- name: settle_approval
update approval
set state = :state, outcome_status = :status, outcome = :outcome, due_at = null, holder = null,
  payload = case when not :forgetsPayload::boolean then payload end,
  ended_at = clock_timestamp()
where approval_id = :approvalId::uuid and state = 'approved'
returning 1 as "one";
