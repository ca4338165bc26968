-- Orders the next plastic of a client's card: its renewal, a reprint or a conversion. Records the
-- event, once for an idempotency key.
--
-- The caller gives the number of the plastic: the next one, or the card has changed since it was
-- read. It takes the place of an order with this number, which was cancelled before a batch took
-- it. The reason is Renewal, Reprint, or Conversion, which gives an active virtual card its first
-- plastic.
--
-- With p_is_current, the plastic becomes current at once. Otherwise it waits until it is activated,
-- and the present one is used until then. A conversion is always current: the card is physical from
-- then on, and its plastic is inactive until it is activated.
--
-- A conversion may say where the plastic goes, which is part of the personal data: the change has
-- an event of its own. The card must then still have p_former_personal_data; both are null if the
-- personal data stays.
--
-- A card whose last day is before p_today expires first, with an event of its own. An expired card
-- can still be renewed if its last day is not before p_expired_since, and leaves the status 54 when
-- the plastic becomes current. A retired or replaced card has no further plastic. A plastic that
-- waits is cancelled if it has expired or was returned. With p_ends_reprint, which the service
-- sets, so is a copy of the present plastic that was not produced, or is at its last day.
-- p_renewal_job_id is null unless a job ordered it. The event of the order has the note.
--
-- Lock order: card, key. The call does everything or nothing.
--
-- Returns whether it was done. It is not done if the card belongs to another client, has changed,
-- has a successor or a plastic that waits, or if the key was not free.
--
-- Distributed by p_public_token, beside card.
create or replace function order_plastic(
  p_public_token text,
  p_client_id text,
  p_plastic_number integer,
  p_reason text,
  p_is_current boolean,
  p_today date,
  p_expired_since date,
  p_expiry_date date,
  p_free_texts bytea,
  p_former_personal_data bytea,
  p_personal_data bytea,
  p_ends_reprint boolean,
  p_renewal_job_id uuid,
  p_request_id text,
  p_note bytea,
  p_operator_id text,
  p_claimant_id text,
  p_key_hashes bytea[],
  p_request_fingerprint bytea,
  p_claim_id uuid,
  p_answer bytea
) returns boolean
language plpgsql
as $function$
declare
  v_card card := lock_card(p_public_token);
  v_card_type text;
  v_is_expired boolean;
begin
  if v_card.client_id is distinct from p_client_id
    or not may_have_plastics(v_card)
    or p_plastic_number is distinct from v_card.last_plastic_number + 1
    or p_expiry_date < v_card.expiry_date
    or p_expiry_date < p_today
    or v_card.personal_data <> p_former_personal_data
  then
    return false;
  end if;
  if v_card.waiting_expiry_date >= p_today and not exists (
    select
    from plastic
    where public_token = p_public_token and state = 'Waiting'
      and (
        delivery_status = 'Returned'
        or p_ends_reprint and expiry_date = v_card.expiry_date
        and (delivery_status = 'Ordered' or expiry_date = p_today)
      )
  )
  then
    return false;
  end if;
  v_is_expired := v_card.status_code = '54' or v_card.valid_until < p_today;
  if p_reason = 'Conversion' and (
      v_is_expired or v_card.status_code <> '00' or v_card.card_type <> 'Virtual'
    )
    or v_is_expired and v_card.valid_until < p_expired_since
  then
    return false;
  end if;
  if find_successor(v_card.line_token, v_card.generation, p_today) is not null then
    return false;
  end if;
  -- A job that resumes may come back to a card that it renewed.
  if p_renewal_job_id is not null and exists (
    select
    from plastic
    where public_token = p_public_token and renewal_job_id = p_renewal_job_id
  )
  then
    return false;
  end if;
  if not claim_idempotency_key(
    p_claimant_id, p_key_hashes, p_request_fingerprint, p_claim_id, p_answer
  )
  then
    return false;
  end if;
  if v_is_expired and v_card.status_code <> '54' then
    v_card := expire_card(p_public_token);
  end if;
  if v_card.waiting_expiry_date is not null then
    v_card := end_waiting_plastic(v_card, p_request_id, null, p_operator_id);
  end if;
  if p_personal_data is not null then
    v_card.last_sequence := v_card.last_sequence + 1;
    update card
    set personal_data = p_personal_data,
      last_sequence = v_card.last_sequence
    where public_token = p_public_token;
    perform record_event(
      p_public_token, v_card.last_sequence, p_client_id, 'card.changed', p_request_id,
      json_build_object('members', json_build_array('fulfilment'))::text,
      null, p_operator_id
    );
  end if;
  delete from plastic
  where public_token = p_public_token and plastic_number = p_plastic_number;
  v_card_type := case p_reason when 'Conversion' then 'Physical' else v_card.card_type end;
  insert into plastic (
    public_token, plastic_number, card_type, reason, state, start_date, expiry_date,
    delivery_status, renewal_job_id, free_texts
  )
  values (
    p_public_token, p_plastic_number, v_card_type, p_reason, 'Waiting', p_today, p_expiry_date,
    case when v_card_type = 'Physical' then 'Ordered' end, p_renewal_job_id, p_free_texts
  );
  if p_is_current then
    perform make_plastic_current(
      v_card, p_plastic_number, p_request_id, p_note, p_operator_id
    );
    return true;
  end if;
  update card
  set waiting_expiry_date = p_expiry_date,
    last_plastic_number = p_plastic_number,
    last_sequence = v_card.last_sequence + 1
  where public_token = p_public_token;
  perform record_event(
    p_public_token, v_card.last_sequence + 1, p_client_id, 'card.renewal_ordered', p_request_id,
    json_build_object(
      'plasticNumber', p_plastic_number, 'reason', p_reason, 'expiryDate', p_expiry_date
    )::text,
    p_note, p_operator_id
  );
  return true;
end
$function$;
