-- Cancels the plastic of a card that waits, and records the event. The delivery of a plastic that
-- was not made, or was returned, is cancelled, too. Any other plastic keeps its delivery status.
--
-- The caller has locked the row p_card.
--
-- Returns the row as it is afterwards.
create or replace function end_waiting_plastic(
  p_card card,
  p_request_id text,
  p_operator_id text
) returns card
language plpgsql
as $function$
declare
  v_card card;
  v_plastic_number integer;
  -- Citus rejects clock functions in an update.
  v_now timestamptz := clock_timestamp();
begin
  update plastic
  set state = 'Cancelled',
    delivery_status = case
      when delivery_status in ('Ordered', 'Returned') then 'Cancelled'
      else delivery_status
    end,
    delivery_changed_at = case
      when delivery_status in ('Ordered', 'Returned') then v_now
      else delivery_changed_at
    end,
    ended_at = v_now
  where public_token = p_card.public_token and state = 'Waiting'
  returning plastic_number into v_plastic_number;
  update card
  set waiting_expiry_date = null,
    last_sequence = p_card.last_sequence + 1
  where public_token = p_card.public_token
  returning card.* into v_card;
  perform record_event(
    p_card.public_token, v_card.last_sequence, p_card.client_id, 'card.renewal_cancelled',
    p_request_id, json_build_object('plasticNumber', v_plastic_number)::text, null, p_operator_id
  );
  return v_card;
end
$function$;
