-- Computes what an increment adds to the payment that it would raise, if it states the new total:
-- at least nothing. If it would open a payment of its own, that holds the whole total. The caller
-- has locked the card, so that no other increment is counted twice.
create or replace function compute_added_amount(
  p_public_token text,
  p_network_id text,
  p_network_transaction_id text,
  p_payment_id uuid,
  p_total bigint,
  p_currency_code text
) returns bigint
language plpgsql
as $function$
declare
  v_payment payment := find_payment_to_change(
    p_public_token, p_network_id, p_payment_id, p_network_transaction_id
  );
begin
  return case
    when derive_payment_state(v_payment) in ('open', 'partlyCleared')
      and v_payment.currency_code = p_currency_code
    then greatest(0, p_total - (v_payment.approved - v_payment.reversed))
    else p_total
  end;
end
$function$;
