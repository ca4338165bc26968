-- Raises the hold of a payment by an approved increment. The increment opens a payment of its own
-- if no open or partly cleared payment is found, its currency differs, or its sum would be too
-- large. The caller has locked the cards, and records the event (record_increment).
--
-- p_public_token is the card of the payment (find_card_of_payment). p_increment_token is the card
-- of the increment, which has the payment that the increment opens.
--
-- The increment is the authorization p_authorization_id. Its message has the same id.
--
-- Returns the payment, and what was done (src/domain/payment.ts).
create or replace function raise_payment(
  p_public_token text,
  p_increment_token text,
  p_client_id text,
  p_network_id text,
  p_network_transaction_id text,
  p_payment_id uuid,
  p_authorization_id uuid,
  p_request_id text,
  p_reference text,
  p_amount bigint,
  p_currency_code text,
  p_hold_expires_at timestamptz,
  out raised payment,
  out effect text
)
language plpgsql
as $function$
declare
  v_payment payment;
begin
  v_payment := find_payment_to_change(
    p_public_token, p_network_id, p_payment_id, p_network_transaction_id
  );
  effect := choose_payment_effect(
    'increment', coalesce(derive_payment_state(v_payment), 'none')
  );
  -- Every language represents whole numbers up to 2^53 - 1 exactly.
  if v_payment.currency_code <> p_currency_code
    or v_payment.approved + p_amount > 9007199254740991
  then
    effect := 'openFlagged';
  end if;
  if effect = 'raise' then
    v_payment.approved := v_payment.approved + p_amount;
    v_payment.hold_expires_at := greatest(v_payment.hold_expires_at, p_hold_expires_at);
    v_payment.message_count := v_payment.message_count + 1;
    update payment
    set approved = v_payment.approved, hold_expires_at = v_payment.hold_expires_at,
      message_count = v_payment.message_count
    where payment.public_token = p_public_token and payment.payment_id = v_payment.payment_id;
  else
    insert into payment (
      public_token, payment_id, client_id, network_id, network_transaction_id, opened_by,
      currency_code, approved, hold_expires_at
    )
    values (
      p_increment_token, p_authorization_id, p_client_id, p_network_id, p_network_transaction_id,
      'increment', p_currency_code, p_amount, p_hold_expires_at
    )
    returning * into v_payment;
  end if;
  insert into payment_message (
    public_token, message_id, payment_id, increment_token, position, kind, network_id,
    network_transaction_id, reference, request_id, effect, amount, applied, currency_code
  )
  values (
    v_payment.public_token, p_authorization_id, v_payment.payment_id,
    nullif(p_increment_token, v_payment.public_token), v_payment.message_count, 'increment',
    p_network_id, p_network_transaction_id, p_reference, p_request_id, raise_payment.effect,
    p_amount, p_amount, p_currency_code
  );
  raised := v_payment;
end
$function$;
