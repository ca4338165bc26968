-- Records that an approval waits for the decision of its card's client. The limits are reserved in
-- the same transaction, and the authorization is recorded without an answer. The caller has locked
-- the card.
--
-- p_decision is what src/storage/decisions/reserve.ts composes. p_checks and p_details are those of
-- the approval as the limits left it: of all of it, or of p_approved_amount. p_held_amount is what
-- the approval holds, null if it holds nothing. p_remaining_tries are those of the value p_kind,
-- which the answer states; null if no try was spent.
--
-- Returns the number of the decision among those of its card, what the approval holds, and what its
-- conclusion needs (src/storage/decisions/reserve.ts).
create or replace function reserve_decision(
  p_public_token text,
  p_client_id text,
  p_authorization_id uuid,
  p_decision jsonb,
  p_checks text,
  p_details text,
  p_held_amount bigint,
  p_held_currency_code text,
  p_approved_amount bigint,
  p_kind text,
  p_remaining_tries integer
) returns jsonb
language plpgsql
as $function$
declare
  v_sequence integer := next_decision_sequence(p_public_token);
  v_pending jsonb := p_decision -> 'pending' || jsonb_build_object(
    'checks', p_checks::jsonb, 'details', p_details::jsonb, 'approvedAmount', p_approved_amount
  );
begin
  if p_remaining_tries is not null then
    v_pending := jsonb_set(
      v_pending, array['answer', p_kind, 'remainingTries'], to_jsonb(p_remaining_tries)
    );
  end if;
  insert into decision (
    public_token, decision_id, client_id, authorization_id, sequence, purpose,
    endpoint_product_id, endpoint_version, facts, held_amount, held_currency_code, deadline,
    pending
  )
  values (
    p_public_token, (p_decision ->> 'decisionId')::uuid, p_client_id, p_authorization_id,
    v_sequence, 'authorize', (p_decision ->> 'endpointProductId')::integer,
    (p_decision ->> 'endpointVersion')::integer, p_decision ->> 'facts', p_held_amount,
    p_held_currency_code, (p_decision ->> 'deadline')::timestamptz, v_pending::text
  );
  return jsonb_build_object(
    'sequence', v_sequence, 'heldAmount', p_held_amount, 'pending', v_pending
  );
end
$function$;
