-- Takes an answer that came by a call of the client. The first answer to a decision wins: one taken
-- here is the answer of the decision, whatever comes after it.
--
-- p_answer: JSON, as src/storage/decisions/calls.ts writes it.
--
-- Returns one of these outcomes:
--   accepted: the decision has this answer, from now on or since an earlier call.
--   taken: it was answered before; said is the first answer.
--   late: the deadline has passed, or something else decided instead. Nothing changed.
--   unknown: the card has no such decision.
--
-- Distributed by p_public_token, beside card.
create or replace function take_decision_answer(
  p_public_token text,
  p_decision_id uuid,
  p_answer text,
  out outcome text,
  out said text
)
language plpgsql
as $function$
declare
  v_decision decision;
  -- Citus rejects clock functions in an update.
  v_now timestamptz;
begin
  select * into v_decision
  from decision
  where public_token = p_public_token and decision_id = p_decision_id
  for no key update;
  v_now := clock_timestamp();
  if v_decision.decision_id is null then
    outcome := 'unknown';
  elsif v_decision.called_answer = p_answer then
    -- A client that lost the response repeats its call. The same bytes give the same p_answer.
    outcome := 'accepted';
  elsif v_decision.called_answer is not null then
    outcome := 'taken';
    said := v_decision.called_answer;
  elsif v_decision.concluded_at is not null and v_decision.decided_by = 'endpoint' then
    outcome := 'taken';
    said := jsonb_strip_nulls(jsonb_build_object(
      'decision', v_decision.verdict,
      'amount', v_decision.approved_amount,
      'reason', v_decision.reason,
      'responseCode', v_decision.response_code
    ))::text;
  elsif v_decision.concluded_at is not null or v_decision.deadline <= v_now then
    outcome := 'late';
  else
    outcome := 'accepted';
    update decision
    set called_answer = p_answer, called_at = v_now
    where public_token = p_public_token and decision_id = p_decision_id;
  end if;
end
$function$;
