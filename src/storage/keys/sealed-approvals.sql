-- The sealed columns of approvals, for a re-encryption.

-- name: list_sealed_approvals_payload
select approval_id::text as "approvalId", payload as "sealed"
from approval
where approval_id > :afterId::uuid and payload is not null
order by approval_id
limit :limit;

-- name: list_sealed_approvals_reason
select approval_id::text as "approvalId", reason as "sealed"
from approval
where approval_id > :afterId::uuid and reason is not null
order by approval_id
limit :limit;

-- name: list_sealed_approvals_outcome
select approval_id::text as "approvalId", outcome as "sealed"
from approval
where approval_id > :afterId::uuid and outcome is not null
order by approval_id
limit :limit;

-- name: move_sealed_approval_payload
update approval
set payload = :after
where approval_id = :approvalId::uuid and payload = :sealed
returning 1 as one;

-- name: move_sealed_approval_reason
update approval
set reason = :after
where approval_id = :approvalId::uuid and reason = :sealed
returning 1 as one;

-- name: move_sealed_approval_outcome
update approval
set outcome = :after
where approval_id = :approvalId::uuid and outcome = :sealed
returning 1 as one;
