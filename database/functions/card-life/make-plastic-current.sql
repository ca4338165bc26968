-- Makes the plastic of a card that waits the current one, and records the event. The present
-- plastic is retired. An expired card gets back the status that it had before.
--
-- The caller has locked the card's row, which it gives.
create or replace function make_plastic_current(
  p_card card,
  p_plastic_number integer,
  p_request_id text,
  p_operator_id text
) returns void
language plpgsql
as $function$
declare
  v_plastic plastic;
  -- Citus rejects clock functions in an update.
  v_now timestamptz := clock_timestamp();
  v_status_code text := case
    when p_card.status_code = '54' then p_card.status_before_expiry
    else p_card.status_code
  end;
begin
  update plastic
  set state = 'Retired', ended_at = v_now
  where public_token = p_card.public_token and state = 'Current';
  update plastic
  set state = 'Current'
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
    last_sequence = p_card.last_sequence + 1
  where public_token = p_card.public_token;
  perform record_event(
    p_card.public_token, p_card.last_sequence + 1, p_card.client_id,
    case v_plastic.reason when 'Conversion' then 'card.converted' else 'card.renewed' end,
    p_request_id,
    json_build_object(
      'plasticNumber', p_plastic_number, 'reason', v_plastic.reason,
      'expiryDate', v_plastic.expiry_date, 'cardStatusCode', v_status_code
    )::text,
    null, p_operator_id
  );
end
$function$;
