-- Gives back to the limits what is taken back of a payment: the newest increment first, and at last
-- the authorization that opened it, whose id the payment has.
create or replace function release_payment_spending(
  p_public_token text,
  p_payment_id uuid,
  p_amount bigint
) returns void
language plpgsql
as $function$
declare
  v_left bigint := p_amount;
  v_authorization_id uuid;
begin
  for v_authorization_id in
    select approval.authorization_id
    from (
      select message.message_id as authorization_id, message.position
      from payment_message as message
      where message.public_token = p_public_token and message.payment_id = p_payment_id
        and message.kind = 'increment'
      union all
      select p_payment_id, -1
    ) as approval
    order by approval.position desc
  loop
    exit when v_left = 0;
    v_left := v_left
      - coalesce(release_spending(p_public_token, v_authorization_id, v_left), 0);
  end loop;
end
$function$;
