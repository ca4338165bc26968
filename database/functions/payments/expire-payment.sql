-- Expires the hold of a payment, if it is still due at p_now: another process, or a clearing, may
-- have come first. The message, the row, the event and what the limits get back commit together.
-- Lock order: card, payment, authorization, spending.
--
-- Returns whether the hold expired now.
--
-- Distributed by p_public_token, beside card.
create or replace function expire_payment(
  p_public_token text,
  p_payment_id uuid,
  p_message_id uuid,
  p_now timestamptz
) returns boolean
language plpgsql
as $function$
declare
  v_card card := lock_card(p_public_token);
  v_payment payment;
  v_before payment;
  v_effect text;
  v_open bigint;
begin
  select * into v_payment
  from payment
  where public_token = p_public_token and payment_id = p_payment_id
  for no key update;
  v_effect := choose_payment_effect(
    'expiry', coalesce(derive_payment_state(v_payment), 'none')
  );
  if v_effect = 'ignore' or v_payment.hold_expires_at > p_now then
    return false;
  end if;
  v_open := derive_open_amount(v_payment);
  v_before := v_payment;
  v_payment.is_final := v_effect = 'close';
  v_payment.is_expired := v_effect = 'expire';
  v_payment.message_count := v_payment.message_count + 1;
  update payment
  set is_final = v_payment.is_final, is_expired = v_payment.is_expired,
    message_count = v_payment.message_count
  where public_token = p_public_token and payment_id = p_payment_id;
  perform move_payment_spending(v_before, v_payment);
  insert into payment_message (
    public_token, message_id, payment_id, position, kind, network_id, network_transaction_id,
    effect, amount, applied, currency_code
  )
  values (
    p_public_token, p_message_id, p_payment_id, v_payment.message_count, 'expiry',
    v_payment.network_id, v_payment.network_transaction_id, v_effect, v_open, v_open,
    v_payment.currency_code
  );
  update card
  set last_sequence = v_card.last_sequence + 1
  where public_token = p_public_token;
  perform record_event(
    p_public_token, v_card.last_sequence + 1, v_card.client_id, 'payment.expired', null,
    describe_payment_change(
      v_payment, p_message_id, 'expiry', v_effect, v_open, find_current_card(v_card)
    ),
    null, null
  );
  return true;
end
$function$;
