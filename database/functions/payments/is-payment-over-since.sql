-- Whether a message of the network ended a payment at p_since or later: it took back or cleared
-- the whole open amount. An increment that the network sent before then raises the payment no more.
--
-- p_payment_id or p_network_transaction_id names the payment, as in find_payment_to_change. A
-- payment that ended earlier, or whose hold expired, does not count: an increment opens a new one.
--
-- It is volatile, so that a statement that calls it after it has locked the card sees messages that
-- were committed after the statement began.
create or replace function is_payment_over_since(
  p_public_token text,
  p_network_id text,
  p_payment_id uuid,
  p_network_transaction_id text,
  p_since timestamptz
) returns boolean
language plpgsql
as $function$
declare
  v_payment payment := find_payment_to_change(
    p_public_token, p_network_id, p_payment_id, p_network_transaction_id
  );
begin
  return coalesce(derive_payment_state(v_payment), 'none') in ('voided', 'cleared') and exists (
    select
    from payment_message as message
    where message.payment_id = v_payment.payment_id and message.public_token = p_public_token
      and message.effect in ('release', 'replace', 'clearFinal')
      and message.received_at >= p_since
  );
end
$function$;
