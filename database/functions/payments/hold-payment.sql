-- Holds the amount of an approval. An increment raises its payment (raise_payment), any other
-- approval opens one, which has the id of the authorization. The caller has locked the cards.
--
-- p_payment_token is the card of the payment that an increment raises (find_card_of_payment), and
-- p_raised_payment_id the payment that it names, or null.
--
-- Returns the payment. Of an increment, it also returns what was done (src/domain/payment.ts),
-- which the caller records (record_increment), and whether it is flagged because it raises another
-- payment than it named.
create or replace function hold_payment(
  p_public_token text,
  p_client_id text,
  p_authorization_id uuid,
  p_network_id text,
  p_network_transaction_id text,
  p_request_id text,
  p_reference text,
  p_amount bigint,
  p_currency_code text,
  p_hold_expires_at timestamptz,
  p_is_increment boolean,
  p_payment_token text,
  p_raised_payment_id uuid,
  out held payment,
  out effect text,
  out is_flagged boolean
)
language plpgsql
as $function$
declare
  v_raised record;
begin
  is_flagged := false;
  if p_is_increment then
    v_raised := raise_payment(
      p_payment_token, p_public_token, p_client_id, p_network_id, p_network_transaction_id,
      p_raised_payment_id, p_authorization_id, p_request_id, p_reference, p_amount,
      p_currency_code, p_hold_expires_at
    );
    held := v_raised.raised;
    effect := v_raised.effect;
    is_flagged := coalesce(held.payment_id <> p_raised_payment_id, false);
  else
    insert into payment (
      public_token, payment_id, client_id, network_id, network_transaction_id, opened_by,
      currency_code, approved, hold_expires_at
    )
    values (
      p_public_token, p_authorization_id, p_client_id, p_network_id, p_network_transaction_id,
      'authorization', p_currency_code, p_amount, p_hold_expires_at
    )
    returning * into held;
  end if;
end
$function$;
