-- Cancels the order of a plastic whose card was closed or retired before a batch took it, and
-- records the event. A plastic that waits is cancelled with its renewal.
--
-- Returns whether it was done: not if the card is open, or the plastic is no longer ordered.
-- Lock order: card, plastic.
--
-- Distributed by p_public_token, beside card.
create or replace function cancel_idle_order(
  p_public_token text,
  p_plastic_number integer
) returns boolean
language plpgsql
as $function$
declare
  v_card card := lock_card(p_public_token);
  v_plastic plastic;
  -- Citus rejects clock functions in an update.
  v_now timestamptz := clock_timestamp();
begin
  if v_card.status_code in ('02', '00', '62') and v_card.retired_at is null then
    return false;
  end if;
  select * into v_plastic
  from plastic
  where public_token = p_public_token and plastic_number = p_plastic_number
    and delivery_status = 'Ordered' and batch_id is null
  for no key update;
  if not found then
    return false;
  end if;
  if v_plastic.state = 'Waiting' then
    update plastic
    set state = 'Cancelled',
      delivery_status = 'Cancelled',
      delivery_changed_at = v_now,
      ended_at = v_now
    where public_token = p_public_token and plastic_number = p_plastic_number;
    update card
    set waiting_expiry_date = null,
      last_sequence = v_card.last_sequence + 1
    where public_token = p_public_token;
    perform record_event(
      p_public_token, v_card.last_sequence + 1, v_card.client_id, 'card.renewal_cancelled', null,
      json_build_object('plasticNumber', p_plastic_number)::text, null, null
    );
    return true;
  end if;
  update plastic
  set delivery_status = 'Cancelled', delivery_changed_at = v_now
  where public_token = p_public_token and plastic_number = p_plastic_number;
  update card
  set last_sequence = v_card.last_sequence + 1
  where public_token = p_public_token;
  perform record_event(
    p_public_token, v_card.last_sequence + 1, v_card.client_id, 'card.delivery_changed', null,
    json_build_object('plasticNumber', p_plastic_number, 'deliveryStatus', 'Cancelled')::text,
    null, null
  );
  return true;
end
$function$;
