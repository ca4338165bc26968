-- Cancels the order of a plastic that is no longer to be made, before a batch takes it, and records
-- the event: its last day is before p_today, or its card was closed or retired. A plastic that
-- waits is cancelled with its renewal. The renewal of an expired card is made.
--
-- Returns whether it was done: not if the plastic is to be made, or is no longer ordered.
-- Lock order: card, plastic.
--
-- Distributed by p_public_token, beside card.
create or replace function cancel_idle_order(
  p_public_token text,
  p_plastic_number integer,
  p_today date
) returns boolean
language plpgsql
as $function$
declare
  v_card card := lock_card(p_public_token);
  v_plastic plastic;
  -- Citus rejects clock functions in an update.
  v_now timestamptz := clock_timestamp();
begin
  select * into v_plastic
  from plastic
  where public_token = p_public_token and plastic_number = p_plastic_number
    and delivery_status = 'Ordered' and batch_id is null
  for no key update;
  if not found
    or v_card.retired_at is null
      and v_plastic.expiry_date >= p_today
      and (
        v_card.status_code in ('02', '00', '62')
        or v_card.status_code = '54' and v_plastic.state = 'Waiting'
      )
  then
    return false;
  end if;
  if v_plastic.state = 'Waiting' then
    perform end_waiting_plastic(v_card, null, null, null);
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
