-- Completes the record of a trial with its outcome. A second call changes nothing.
--
-- p_verdict is null without a usable answer in time; p_error then says why, and null that the time
-- ran out.
--
-- Distributed by p_public_token, beside card.
create or replace function conclude_decision_trial(
  p_public_token text,
  p_decision_id uuid,
  p_verdict text,
  p_approved_amount bigint,
  p_reason text,
  p_response_code text,
  p_error text,
  p_status_code integer,
  p_duration_ms integer,
  p_request_hash bytea,
  p_answer_hash bytea,
  p_metadata text
) returns void
language plpgsql
as $function$
declare
  -- Citus rejects clock functions in an update.
  v_concluded_at timestamptz := clock_timestamp();
begin
  update decision
  set concluded_at = v_concluded_at,
    decided_by = case when p_verdict is not null then 'endpoint' end,
    verdict = p_verdict, approved_amount = p_approved_amount, reason = p_reason,
    response_code = p_response_code, error = p_error, status_code = p_status_code,
    duration_ms = p_duration_ms, request_hash = p_request_hash, answer_hash = p_answer_hash,
    metadata = p_metadata
  where public_token = p_public_token and decision_id = p_decision_id
    and purpose in ('shadow', 'replay') and concluded_at is null;
end
$function$;
