-- Moves the limits after a change of a payment from p_before to p_after, by the basis under which
-- its first approval was counted:
--   authorized: what the limits count of a payment is approved - reversed.
--   cleared: it is what is open and what was cleared. So an expiry or a final clearing gives back
--     what has not moved, and a clearing of more than is open takes the difference.
--
-- The newest increment gives back first, and at last the authorization that opened the payment,
-- whose id the payment has. More is taken for the newest of them. No limit is checked: the sums may
-- exceed it. A payment that no authorization opened or raised under limits moves nothing.
create or replace function move_payment_spending(p_before payment, p_after payment) returns void
language plpgsql
as $function$
declare
  v_authorized bigint := p_after.approved - p_after.reversed
    - (p_before.approved - p_before.reversed);
  v_cleared bigint := derive_open_amount(p_after) + p_after.cleared
    - derive_open_amount(p_before) - p_before.cleared;
  v_authorization_ids uuid[];
  v_authorization_id uuid;
  v_left bigint;
begin
  if v_authorized = 0 and v_cleared = 0 then
    return;
  end if;
  v_authorization_ids := array(
    select message.message_id
    from payment_message as message
    where message.public_token = p_after.public_token
      and message.payment_id = p_after.payment_id and message.effect = 'raise'
    order by message.position desc
  ) || p_after.payment_id;
  select case request.spending ->> 'basis' when 'cleared' then v_cleared else v_authorized end
  into v_left
  from authorization_request as request
  where request.public_token = p_after.public_token
    and request.authorization_id = any (v_authorization_ids) and request.spending is not null
  order by array_position(v_authorization_ids, request.authorization_id) desc
  limit 1;
  foreach v_authorization_id in array v_authorization_ids loop
    exit when coalesce(v_left, 0) = 0;
    v_left := v_left
      - coalesce(move_spending(p_after.public_token, v_authorization_id, v_left), 0);
  end loop;
end
$function$;
