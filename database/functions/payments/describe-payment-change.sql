-- Describes a change of a payment for its event: the message, what it changed, and the sums and the
-- state after it.
create or replace function describe_payment_change(
  p_payment payment,
  p_message_id uuid,
  p_message text,
  p_effect text,
  p_amount bigint
) returns text
language sql
immutable
as $function$
select jsonb_build_object(
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
)::text
$function$;
