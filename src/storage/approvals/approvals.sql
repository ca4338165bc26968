-- Requests for the approval of another person, and their outcomes. A request expires after 24
-- hours.

-- name: insert_approval
insert into approval (approval_id, kind, method, path, access, payload, reason, payload_hash,
  subject, state_digest, requester_id, requester_person, request_id, requester_parties)
values (:approvalId::uuid, :kind, :method, :path, :access, :payload, :reason, :payloadHash,
  :subject, :stateDigest, :requesterId, :requesterPerson, :requestId, :requesterParties::text[])
returning approval_id::text as "approvalId", kind, state, method, path, access, payload,
  reason, payload_hash as "payloadHash", subject, state_digest as "stateDigest",
  requester_id as "requesterId", requester_person as "requesterPerson",
  requester_parties as "requesterParties", request_id as "requestId",
  to_char(requested_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "requestedAt",
  requested_at + interval '24 hours' as "expiresAt",
  clock_timestamp() - requested_at > interval '24 hours' as "isLate",
  decider_id as "deciderId", decider_name as "deciderName", decision_reason as "decisionReason",
  decided_at as "decidedAt", broke_glass as "brokeGlass", attempts,
  outcome_status as "outcomeStatus", outcome, ended_at as "endedAt";

-- name: find_approval
select approval_id::text as "approvalId", kind, state, method, path, access, payload,
  reason, payload_hash as "payloadHash", subject, state_digest as "stateDigest",
  requester_id as "requesterId", requester_person as "requesterPerson",
  requester_parties as "requesterParties", request_id as "requestId",
  to_char(requested_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "requestedAt",
  requested_at + interval '24 hours' as "expiresAt",
  clock_timestamp() - requested_at > interval '24 hours' as "isLate",
  decider_id as "deciderId", decider_name as "deciderName", decision_reason as "decisionReason",
  decided_at as "decidedAt", broke_glass as "brokeGlass", attempts,
  outcome_status as "outcomeStatus", outcome, ended_at as "endedAt"
from approval
where approval_id = :approvalId::uuid;

-- name: lock_approval
select approval_id::text as "approvalId", kind, state, method, path, access, payload,
  reason, payload_hash as "payloadHash", subject, state_digest as "stateDigest",
  requester_id as "requesterId", requester_person as "requesterPerson",
  requester_parties as "requesterParties", request_id as "requestId",
  to_char(requested_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "requestedAt",
  requested_at + interval '24 hours' as "expiresAt",
  clock_timestamp() - requested_at > interval '24 hours' as "isLate",
  decider_id as "deciderId", decider_name as "deciderName", decision_reason as "decisionReason",
  decided_at as "decidedAt", broke_glass as "brokeGlass", attempts,
  outcome_status as "outcomeStatus", outcome, ended_at as "endedAt"
from approval
where approval_id = :approvalId::uuid
for update;

-- Each list reads its own index from its start, whatever size the planner expects.

-- name: list_approvals
select approval_id::text as "approvalId", kind, state, method, path, access, payload,
  reason, payload_hash as "payloadHash", subject, state_digest as "stateDigest",
  requester_id as "requesterId", requester_person as "requesterPerson",
  requester_parties as "requesterParties", request_id as "requestId",
  to_char(requested_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "requestedAt",
  requested_at + interval '24 hours' as "expiresAt",
  clock_timestamp() - requested_at > interval '24 hours' as "isLate",
  decider_id as "deciderId", decider_name as "deciderName", decision_reason as "decisionReason",
  decided_at as "decidedAt", broke_glass as "brokeGlass", attempts,
  outcome_status as "outcomeStatus", outcome, ended_at as "endedAt"
from approval
where (requested_at, approval_id) < (:requestedAt::timestamptz, :approvalId::uuid)
order by requested_at desc, approval_id desc
limit :limit;

-- name: list_approvals_by_state
select approval_id::text as "approvalId", kind, state, method, path, access, payload,
  reason, payload_hash as "payloadHash", subject, state_digest as "stateDigest",
  requester_id as "requesterId", requester_person as "requesterPerson",
  requester_parties as "requesterParties", request_id as "requestId",
  to_char(requested_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "requestedAt",
  requested_at + interval '24 hours' as "expiresAt",
  clock_timestamp() - requested_at > interval '24 hours' as "isLate",
  decider_id as "deciderId", decider_name as "deciderName", decision_reason as "decisionReason",
  decided_at as "decidedAt", broke_glass as "brokeGlass", attempts,
  outcome_status as "outcomeStatus", outcome, ended_at as "endedAt"
from approval
where (state, requested_at, approval_id)
    < (:state::text, :requestedAt::timestamptz, :approvalId::uuid)
  and state >= :state
order by state desc, requested_at desc, approval_id desc
limit :limit;

-- name: list_approvals_by_requester
select approval_id::text as "approvalId", kind, state, method, path, access, payload,
  reason, payload_hash as "payloadHash", subject, state_digest as "stateDigest",
  requester_id as "requesterId", requester_person as "requesterPerson",
  requester_parties as "requesterParties", request_id as "requestId",
  to_char(requested_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "requestedAt",
  requested_at + interval '24 hours' as "expiresAt",
  clock_timestamp() - requested_at > interval '24 hours' as "isLate",
  decider_id as "deciderId", decider_name as "deciderName", decision_reason as "decisionReason",
  decided_at as "decidedAt", broke_glass as "brokeGlass", attempts,
  outcome_status as "outcomeStatus", outcome, ended_at as "endedAt"
from approval
where (requester_id, requested_at, approval_id)
    < (:requesterId::text, :requestedAt::timestamptz, :approvalId::uuid)
  and requester_id >= :requesterId
  and (:state::text is null or state = :state)
order by requester_id desc, requested_at desc, approval_id desc
limit :limit;

-- name: decide_approval
update approval
set state = :state, decider_id = :deciderId, decider_name = :deciderName,
  decision_reason = :decisionReason, broke_glass = :brokeGlass,
  decided_at = case when :deciderId::text is not null then clock_timestamp() end,
  due_at = case when :state = 'approved' then clock_timestamp() end,
  ended_at = case when :state <> 'approved' then clock_timestamp() end,
  payload = case when not :forgetsPayload::boolean then payload end
where approval_id = :approvalId::uuid and state = 'waiting'
  and (:state <> 'approved' or clock_timestamp() - requested_at <= interval '24 hours')
returning approval_id::text as "approvalId", kind, state, method, path, access, payload,
  reason, payload_hash as "payloadHash", subject, state_digest as "stateDigest",
  requester_id as "requesterId", requester_person as "requesterPerson",
  requester_parties as "requesterParties", request_id as "requestId",
  to_char(requested_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "requestedAt",
  requested_at + interval '24 hours' as "expiresAt",
  clock_timestamp() - requested_at > interval '24 hours' as "isLate",
  decider_id as "deciderId", decider_name as "deciderName", decision_reason as "decisionReason",
  decided_at as "decidedAt", broke_glass as "brokeGlass", attempts,
  outcome_status as "outcomeStatus", outcome, ended_at as "endedAt";

-- name: list_late_approvals
select approval_id::text as "approvalId"
from approval
where state = 'waiting'
  and requested_at < (select clock_timestamp() - interval '24 hours')
order by requested_at
limit :limit;

-- The list is materialized and joined row by row, so that no plan reads more than its rows.
-- name: prune_approvals
with over as materialized (
  select approval_id
  from approval
  where ended_at < (select clock_timestamp() - interval '400 days')
  order by ended_at
  limit :limit
)
delete from approval
using over
where approval.approval_id = any(array[over.approval_id])
  and clock_timestamp() - ended_at > interval '400 days'
returning 1 as "one";

-- name: count_waiting_approvals
select count(*)::integer as "count"
from approval
where requester_id = :requesterId and state = 'waiting'
  and requested_at > (select clock_timestamp() - interval '24 hours');

-- name: count_approvals_for
with open_request as materialized (
  select approval_id
  from approval
  where state = 'waiting' and requested_at > (select clock_timestamp() - interval '24 hours')
    and requester_id <> :viewerId and not :viewerId = any(requester_parties)
    and access && :scopes::text[]
  order by requested_at
  limit :limit
)
select count(*)::integer as "count"
from open_request;

-- name: count_broken_glass
select count(*)::integer as "count"
from approval
where broke_glass and decided_at > (select clock_timestamp() - interval '30 days');
