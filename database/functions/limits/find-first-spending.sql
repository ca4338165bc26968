-- Finds what the first approval of a payment under limits has taken from them
-- (authorization_request.spending): the authorization that opened the payment, which has its id, or
-- the first increment that raised it. An increment may have been requested for a card that replaced
-- the card of the payment.
--
-- Returns null if no approval of the payment was under limits.
create or replace function find_first_spending(p_payment payment) returns jsonb
language plpgsql
as $function$
declare
  v_spending jsonb;
  v_message record;
begin
  select spending into v_spending
  from authorization_request
  where public_token = p_payment.public_token and authorization_id = p_payment.payment_id;
  if v_spending is not null then
    return v_spending;
  end if;
  for v_message in
    select coalesce(increment_token, public_token) as public_token, message_id
    from payment_message
    where public_token = p_payment.public_token and payment_id = p_payment.payment_id
      and effect = 'raise'
    order by position
  loop
    select spending into v_spending
    from authorization_request
    where public_token = v_message.public_token and authorization_id = v_message.message_id;
    if v_spending is not null then
      return v_spending;
    end if;
  end loop;
  return null;
end
$function$;
