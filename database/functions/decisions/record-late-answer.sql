-- Records the first answer to a decision that came too late, by either way, with its event. It
-- changes nothing else. A trial, which decides nothing, has no event.
--
-- p_answer: JSON, as src/storage/decisions/calls.ts writes it.
--
-- Returns whether it is recorded now. Lock order: card, decision.
--
-- Distributed by p_public_token, beside card.
create or replace function record_late_answer(
  p_public_token text,
  p_decision_id uuid,
  p_answer text,
  p_request_id text
) returns boolean
language plpgsql
as $function$
declare
  v_card card := lock_card(p_public_token);
  v_decision decision;
  v_answer jsonb := p_answer::jsonb;
begin
  update decision
  set late_answer = p_answer
  where public_token = p_public_token and decision_id = p_decision_id and late_answer is null
  returning * into v_decision;
  if v_decision.decision_id is null then
    return false;
  end if;
  if v_decision.purpose = 'authorize' then
    update card
    set last_sequence = v_card.last_sequence + 1
    where public_token = p_public_token;
    perform record_event(
      p_public_token, v_card.last_sequence + 1, v_card.client_id, 'decision.late', p_request_id,
      jsonb_strip_nulls(jsonb_build_object(
        'decisionId', p_decision_id,
        'authorizationId', v_decision.authorization_id,
        'lateMs', greatest(
          0, ceil(extract(epoch from clock_timestamp() - v_decision.deadline) * 1000)::integer
        ),
        'decision', v_answer -> 'decision',
        'amount', v_answer -> 'amount',
        'reason', v_answer -> 'reason'
      ))::text,
      null, null
    );
  end if;
  return true;
end
$function$;
