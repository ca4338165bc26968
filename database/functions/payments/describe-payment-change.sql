-- Describes a change of a payment for its event: the message, what it changed, and the sums and the
-- state after it. p_current_card is the card that took the place of the payment's card, or null.
create or replace function describe_payment_change(
  p_payment payment,
  p_message_id uuid,
  p_message text,
  p_effect text,
  p_amount bigint,
  p_current_card text
) returns text
language sql
immutable
as $function$
select (jsonb_build_object(
  'paymentId', p_payment.payment_id,
  'messageId', p_message_id,
  'message', p_message,
  'effect', p_effect,
  'amount', p_amount,
  'currency', p_payment.currency_code,
  'state', derive_payment_state(p_payment),
  'approved', p_payment.approved,
  'reversed', p_payment.reversed,
  'cleared', p_payment.cleared,
  'refunded', p_payment.refunded,
  'open', derive_open_amount(p_payment)
) || case
  when p_current_card is null then '{}'::jsonb
  else jsonb_build_object('currentCard', p_current_card)
end)::text
$function$;
