-- Whether the network opened a payment of a transaction at p_since or later, by an advice or a
-- clearing: it did not wait for an answer. An approval of the same transaction opens no second one.
--
-- It is volatile, so that a statement that calls it after it has locked the card sees payments that
-- were committed after the statement began.
create or replace function is_payment_opened_since(
  p_public_token text,
  p_network_id text,
  p_network_transaction_id text,
  p_since timestamptz
) returns boolean
language plpgsql
as $function$
begin
  return exists (
    select
    from payment
    where payment.network_transaction_id = p_network_transaction_id
      and payment.public_token = p_public_token and payment.network_id = p_network_id
      and payment.opened_by in ('advice', 'clearing') and payment.opened_at >= p_since
  );
end
$function$;
