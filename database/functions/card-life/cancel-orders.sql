-- Cancels the plastics of a card that was closed or retired: the one that waits, and each that was
-- not produced yet, also if a batch took it. Records the events.
--
-- The caller has locked the card's row, and changed it.
create or replace function cancel_orders(
  p_public_token text,
  p_request_id text,
  p_operator_id text
) returns void
language plpgsql
as $function$
declare
  v_card card;
  v_plastic_number integer;
  -- Citus rejects clock functions in an update.
  v_now timestamptz := clock_timestamp();
begin
  select * into v_card
  from card
  where public_token = p_public_token;
  if v_card.waiting_expiry_date is not null then
    v_card := end_waiting_plastic(v_card, p_request_id, null, p_operator_id);
  end if;
  -- The current plastic alone: a former one was cancelled when another took its place.
  update plastic
  set delivery_status = 'Cancelled', delivery_changed_at = v_now
  where public_token = p_public_token and state = 'Current' and delivery_status = 'Ordered'
  returning plastic_number into v_plastic_number;
  if v_plastic_number is null then
    return;
  end if;
  update card
  set last_sequence = v_card.last_sequence + 1
  where public_token = p_public_token;
  perform record_event(
    p_public_token, v_card.last_sequence + 1, v_card.client_id, 'card.delivery_changed',
    p_request_id,
    json_build_object('plasticNumber', v_plastic_number, 'deliveryStatus', 'Cancelled')::text,
    null, p_operator_id
  );
end
$function$;
