-- Cancels the plastic of a card that waits, and records the event with the note. The delivery of a
-- plastic that was not made, or was returned, is cancelled, too. Any other plastic keeps its
-- delivery status. The next order has the number of an order that no batch took: its plastic was
-- never made.
--
-- The caller has locked the row p_card.
--
-- Returns the row as it is afterwards.
create or replace function end_waiting_plastic(
  p_card card,
  p_request_id text,
  p_note bytea,
  p_operator_id text
) returns card
language plpgsql
as $function$
declare
  v_card card;
  v_plastic plastic;
  -- Citus rejects clock functions in an update.
  v_now timestamptz := clock_timestamp();
begin
  select * into v_plastic
  from plastic
  where public_token = p_card.public_token and state = 'Waiting'
  for no key update;
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
  where public_token = p_card.public_token and state = 'Waiting';
  update card
  set waiting_expiry_date = null,
    last_plastic_number = case
      when v_plastic.delivery_status = 'Ordered' and v_plastic.batch_id is null
        then v_plastic.plastic_number - 1
      else last_plastic_number
    end,
    last_sequence = p_card.last_sequence + 1
  where public_token = p_card.public_token
  returning card.* into v_card;
  perform record_event(
    p_card.public_token, v_card.last_sequence, p_card.client_id, 'card.renewal_cancelled',
    p_request_id, json_build_object('plasticNumber', v_plastic.plastic_number)::text, p_note,
    p_operator_id
  );
  return v_card;
end
$function$;
