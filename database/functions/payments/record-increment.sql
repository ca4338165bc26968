-- Records the event of an increment, as the last one of the card that has the payment: the card of
-- the increment, or one that it replaced. The event names the card that took the place of that one.
-- The caller has locked the card.
create or replace function record_increment(
  p_payment payment,
  p_authorization_id uuid,
  p_effect text,
  p_amount bigint,
  p_request_id text
) returns void
language plpgsql
as $function$
declare
  v_card card := lock_card(p_payment.public_token);
begin
  update card
  set last_sequence = v_card.last_sequence + 1
  where public_token = v_card.public_token;
  perform record_event(
    v_card.public_token, v_card.last_sequence + 1, v_card.client_id, 'payment.changed',
    p_request_id,
    describe_payment_change(
      p_payment, p_authorization_id, 'increment', p_effect, p_amount, find_current_card(v_card)
    ),
    null, null
  );
end
$function$;
