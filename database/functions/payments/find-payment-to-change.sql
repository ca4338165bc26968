-- Finds the payment that a message of a network names, and locks its row. The caller has locked the
-- card.
--
-- Several payments may have one network transaction id: one that is open or partly cleared comes
-- first, then the newest. A network names its own payments only.
--
-- Returns a row of nulls if it finds no payment.
create or replace function find_payment_to_change(
  p_public_token text,
  p_network_id text,
  p_payment_id uuid,
  p_network_transaction_id text
) returns payment
language plpgsql
as $function$
declare
  v_payment payment;
begin
  if p_payment_id is not null then
    select * into v_payment
    from payment
    where public_token = p_public_token and payment_id = p_payment_id
      and network_id = p_network_id
    for no key update;
  elsif p_network_transaction_id is not null then
    select * into v_payment
    from payment
    where public_token = p_public_token and network_transaction_id = p_network_transaction_id
      and network_id = p_network_id
    -- Not derive_payment_state: on a cluster, each shard has a row type of its own.
    order by is_final or is_expired or (cleared = 0 and approved = reversed), payment_id desc
    limit 1
    for no key update;
  end if;
  return v_payment;
end
$function$;
