-- Moves the limits after a change of a payment from p_before to p_after, by the basis under which
-- its first approval was counted:
--   authorized: what the limits count of a payment is approved - reversed.
--   cleared: it is what is open and what was cleared. So an expiry or a final clearing gives back
--     what has not moved, and a clearing of more than is open takes the difference.
--
-- The newest increment gives back first, and at last the authorization that opened the payment,
-- whose id the payment has. An additional amount counts for the newest of them. No limit is
-- checked: the sums may exceed it. A payment that no authorization opened or raised under limits
-- moves nothing.
create or replace function move_payment_spending(p_before payment, p_after payment) returns void
language plpgsql
as $function$
declare
  v_authorized bigint := p_after.approved - p_after.reversed
    - (p_before.approved - p_before.reversed);
  v_cleared bigint := derive_open_amount(p_after) + p_after.cleared
    - derive_open_amount(p_before) - p_before.cleared;
  v_message record;
  v_left bigint;
begin
  if v_authorized = 0 and v_cleared = 0 then
    return;
  end if;
  v_left := case find_first_spending(p_after) ->> 'basis'
    when 'cleared' then v_cleared
    else v_authorized
  end;
  for v_message in
    select coalesce(increment_token, public_token) as public_token, message_id
    from payment_message
    where public_token = p_after.public_token and payment_id = p_after.payment_id
      and effect = 'raise'
    order by position desc
  loop
    exit when v_left = 0;
    v_left := v_left
      - coalesce(move_spending(v_message.public_token, v_message.message_id, v_left), 0);
  end loop;
  if v_left <> 0 then
    perform move_spending(p_after.public_token, p_after.payment_id, v_left);
  end if;
end
$function$;
