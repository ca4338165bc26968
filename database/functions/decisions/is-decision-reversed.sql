-- Whether the network reversed the authorization of a waiting decision while its client was asked,
-- ended the payment that it would raise, or opened its payment by an advice or a clearing. A
-- decision that holds nothing has nothing to reverse.
--
-- p_payment_token is the card of the payment that an increment would raise.
--
-- A reversal of a part of an increment has taken it from the payment, which the increment raises.
--
-- It is volatile, so that it sees what was committed after the statement began. The caller has
-- locked the card. Locks the transaction.
create or replace function is_decision_reversed(
  p_decision decision,
  p_request authorization_request,
  p_payment_token text,
  p_now timestamptz
) returns boolean
language plpgsql
as $function$
declare
  v_pending jsonb := p_decision.pending::jsonb;
begin
  if p_decision.held_amount is null then
    return false;
  end if;
  if jsonb_typeof(v_pending -> 'increment') = 'object' then
    return is_payment_over_since(
      p_payment_token, p_request.network_id,
      (v_pending #>> '{increment,paymentId}')::uuid, p_request.network_transaction_id,
      p_decision.asked_at
    );
  end if;
  return is_transaction_reversed(
    p_request.network_id,
    string_to_array(v_pending ->> 'transactionHashes', ',')::bytea[]
  )
  or p_request.network_transaction_id is not null
  and (
    has_early_reversal(
      p_decision.public_token, p_request.network_id, p_request.network_transaction_id, p_now
    )
    or is_payment_opened_since(
      p_decision.public_token, p_request.network_id, p_request.network_transaction_id,
      p_decision.asked_at
    )
  );
end
$function$;
