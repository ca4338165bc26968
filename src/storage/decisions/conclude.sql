-- Decisions that wait for an answer. The rules are in database/functions/decisions.

-- name: conclude_decision
select concluded.outcome, concluded.called_answer as "calledAnswer",
  concluded.is_reversed as "isReversed", concluded.is_taken as "isTaken",
  concluded.response_code as "responseCode",
  concluded.approved_amount::double precision as "approvedAmount",
  concluded.payment_id as "paymentId"
from conclude_decision(
  p_public_token => :publicToken,
  p_decision_id => :decisionId,
  p_called_answer => :calledAnswer,
  p_is_reversed => :isReversed,
  p_is_taken => :isTaken,
  p_is_approved => :isApproved,
  p_response_code => :responseCode,
  p_approved_amount => :approvedAmount,
  p_held_amount => :heldAmount,
  p_hold_expires_at => :holdExpiresAt,
  p_checks => :checks,
  p_details => :details,
  p_duration_ms => :durationMs,
  p_answer => :answer,
  p_flagged_answer => :flaggedAnswer,
  p_decided_by => :decidedBy,
  p_verdict => :verdict,
  p_reason => :reason,
  p_error => :error,
  p_status_code => :statusCode,
  p_decision_ms => :decisionMs,
  p_request_hash => :requestHash,
  p_answer_hash => :answerHash,
  p_metadata => :metadata,
  p_now => :now
) as concluded;

-- Few decisions wait at any time. The lower bound makes the planner read the index of those that
-- wait, also while it believes that the table is empty.
-- name: list_overdue_decisions
select *
from waiting_decision
where deadline < (select clock_timestamp() - :marginMs * interval '1 millisecond')
  and deadline >= :afterDeadline::timestamptz
  and (deadline, "decisionId") > (:afterDeadline::timestamptz, :afterId::uuid)
order by deadline, "decisionId"
limit :limit;

-- The decision that the request with this claim waits for.
-- name: find_pending_decision
select *
from waiting_decision
where "publicToken" = :publicToken and pending::jsonb #>> '{claim,claimId}' = :claimId
limit 1;
