-- Makes the plastic of a card that waits the current one, and records the event with the note. The
-- present plastic is retired, and its order is cancelled, with an event, unless it was produced. An
-- expired card gets back the status that it had before, with an event.
--
-- The caller has locked the card's row, which it gives.
create or replace function make_plastic_current(
  p_card card,
  p_plastic_number integer,
  p_request_id text,
  p_note bytea,
  p_operator_id text
) returns void
language plpgsql
as $function$
declare
  v_plastic plastic;
  v_former plastic;
  v_is_order_cancelled boolean;
  v_sequence integer := p_card.last_sequence + 1;
  -- Citus rejects clock functions in an update.
  v_now timestamptz := clock_timestamp();
  v_status_code text := case
    when p_card.status_code = '54' then p_card.status_before_expiry
    else p_card.status_code
  end;
begin
  select * into v_former
  from plastic
  where public_token = p_card.public_token and state = 'Current'
  for no key update;
  v_is_order_cancelled := coalesce(v_former.delivery_status = 'Ordered', false);
  update plastic
  set state = 'Retired',
    delivery_status = case
      when v_is_order_cancelled then 'Cancelled'
      else delivery_status
    end,
    delivery_changed_at = case
      when v_is_order_cancelled then v_now
      else delivery_changed_at
    end,
    ended_at = v_now
  where public_token = p_card.public_token and state = 'Current';
  update plastic
  set state = 'Current',
    -- The notices of this expiry were given already.
    notices_given = case
      when expiry_date = v_former.expiry_date then v_former.notices_given
      else 0
    end
  where public_token = p_card.public_token and plastic_number = p_plastic_number
  returning * into v_plastic;
  update card
  set card_type = v_plastic.card_type,
    start_date = v_plastic.start_date,
    expiry_date = v_plastic.expiry_date,
    waiting_expiry_date = null,
    plastic_number = p_plastic_number,
    last_plastic_number = p_plastic_number,
    is_plastic_inactive = v_plastic.reason = 'Conversion',
    status_code = v_status_code,
    status_before_expiry = null,
    last_sequence = v_sequence + v_is_order_cancelled::integer
      + (p_card.status_code <> v_status_code)::integer
  where public_token = p_card.public_token;
  perform record_event(
    p_card.public_token, v_sequence, p_card.client_id,
    case v_plastic.reason when 'Conversion' then 'card.converted' else 'card.renewed' end,
    p_request_id,
    json_build_object(
      'plasticNumber', p_plastic_number, 'reason', v_plastic.reason,
      'expiryDate', v_plastic.expiry_date, 'cardStatusCode', v_status_code
    )::text,
    p_note, p_operator_id
  );
  if p_card.status_code <> v_status_code then
    v_sequence := v_sequence + 1;
    perform record_event(
      p_card.public_token, v_sequence, p_card.client_id, 'card.status_changed', p_request_id,
      json_build_object('from', p_card.status_code, 'to', v_status_code)::text,
      null, p_operator_id
    );
  end if;
  if v_is_order_cancelled then
    perform record_event(
      p_card.public_token, v_sequence + 1, p_card.client_id, 'card.delivery_changed',
      p_request_id,
      json_build_object(
        'plasticNumber', v_former.plastic_number, 'deliveryStatus', 'Cancelled'
      )::text,
      null, p_operator_id
    );
  end if;
end
$function$;
