-- Settles the try of an authorization: its result, the tries that it restores, its events, the
-- answer, and the stored answer of the idempotency key commit together. The event of the answer
-- comes after those of the try.
--
-- An approval reserves what it takes from the limits (reserve_spending). If a limit refuses, the
-- authorization is declined, and the answer of this call is not stored: it was an approval. If it
-- leaves a part that may be approved, the answer is 10 with approved_amount, and is not stored
-- either.
--
-- Lock order: card of a raised payment, card, counter, key, spending; the card is locked only if it
-- gets an event. The first
-- stored answer of a key stays. The answer of this call is stored only if p_foreseen_tries remain,
-- because it was sealed before the number was known. If another answer was first, or the key was
-- deleted, the network received 96, and 96 is recorded, as service_unavailable of
-- src/domain/decline-reason.ts. p_response_code and the event are null if the authorization spends
-- another try next. p_key_hash is null without an idempotency key, and p_spending is null without
-- controls.
--
-- p_held_amount is what the approval holds, null if it holds nothing: its payment, which has the id
-- of the authorization, is opened with the answer. An increment (p_is_increment) raises the payment
-- p_raised_payment_id, or that of its network transaction id (raise_payment). With p_is_new_total,
-- p_held_amount is the new total, and the difference is taken. If the increment named a payment
-- that it does not raise, it is flagged, and the answer, which names that payment, is not stored.
-- If a reversal came before the approval, 94 is recorded, as transaction_reversed; the answer is
-- not stored.
--
-- p_decision is null unless the card's client decides approvals
-- (src/storage/decisions/reserve.ts). An approval is then reserved only (reserve_decision): what it
-- takes from the limits is taken, and conclude_decision does the rest.
--
-- Returns how many tries remain, null if the counter does not exist; the stored answer of the key,
-- null if it has none; whether it is the answer of this call; whether a reversal came first; the
-- response code that limits or a merchant lock gave, null if they allow all; whether an increment
-- is flagged; the approved part of the amount, or null; and what reserve_decision returns if the
-- approval was reserved, otherwise null. p_now is the time of the service.
--
-- Distributed by p_public_token, beside card.
create or replace function settle_authorization(
  p_public_token text,
  p_authorization_id uuid,
  p_kind text,
  p_try_number integer,
  p_epoch integer,
  p_comparison text,
  p_response_code text,
  p_checks text,
  p_duration_ms integer,
  p_network_id text,
  p_request_id text,
  p_reference text,
  p_entry_mode text,
  p_claimant_id text,
  p_key_hash bytea,
  p_claim_id uuid,
  p_answer bytea,
  p_foreseen_tries integer,
  p_event_type text,
  p_details text,
  p_network_transaction_id text,
  p_held_amount bigint,
  p_held_currency_code text,
  p_hold_expires_at timestamptz,
  p_is_increment boolean,
  p_raised_payment_id uuid,
  p_is_new_total boolean,
  p_now timestamptz,
  p_spending jsonb,
  p_decision jsonb,
  out remaining integer,
  out answer bytea,
  out is_own boolean,
  out is_reversed boolean,
  out limit_code text,
  out is_flagged boolean,
  out approved_amount bigint,
  out reserved jsonb
)
language plpgsql
as $function$
#variable_conflict use_column
declare
  v_card card;
  v_payment_token text := p_public_token;
  v_settled record;
  v_try_number integer;
  v_first_answer bytea;
  v_is_open boolean;
  v_applied record;
  v_decline_code text;
  v_decline_reason text;
  v_response_code text := p_response_code;
  v_event_type text := p_event_type;
  v_details text := p_details;
  v_sequence integer;
  -- Citus rejects clock functions in an update.
  v_decided_at timestamptz;
begin
  if p_is_increment and p_held_amount is not null then
    v_payment_token := find_card_of_payment(
      p_public_token, p_network_id, p_raised_payment_id, p_network_transaction_id
    );
    perform lock_card(v_payment_token);
  end if;
  if p_event_type is not null or p_comparison = 'mismatch' then
    v_card := lock_card(p_public_token);
    if v_card.public_token is null then
      return;
    end if;
    v_sequence := v_card.last_sequence;
  end if;
  v_settled := settle_try(p_public_token, p_kind, p_try_number, p_epoch, p_comparison);
  remaining := v_settled.remaining;
  if remaining is null then
    return;
  end if;
  if p_comparison = 'mismatch' then
    v_sequence := v_sequence + 1;
    perform record_event(
      p_public_token, v_sequence, v_card.client_id, p_kind || '.attempt_failed', p_request_id,
      json_build_object(
        'remainingTries', remaining, 'entryMode', p_entry_mode, 'reference', p_reference
      )::text,
      null, null
    );
    if v_settled.is_block then
      v_sequence := v_sequence + 1;
      perform record_event(
        p_public_token, v_sequence, v_card.client_id, p_kind || '.blocked', p_request_id,
        json_build_object('blockedBy', 'tries')::text, null, null
      );
    end if;
  end if;
  is_reversed := p_held_amount is not null and not p_is_increment
    and p_network_transaction_id is not null
    and has_early_reversal(p_public_token, p_network_id, p_network_transaction_id, p_now);
  if is_reversed then
    v_decline_code := '94';
    v_decline_reason := 'transaction_reversed';
  end if;
  if p_key_hash is not null then
    select record.answer into v_first_answer
    from idempotency_record as record
    where record.client_id = p_claimant_id and record.key_hash = p_key_hash
      and record.claim_id = p_claim_id
    for no key update;
    v_is_open := found and v_first_answer is null;
    if not v_is_open then
      v_decline_code := '96';
      v_decline_reason := 'service_unavailable';
    end if;
  end if;
  if v_decline_code is not null then
    v_response_code := v_decline_code;
    v_event_type := 'authorization.declined';
    v_details := (
      p_details::jsonb - array['paymentId', 'approvedAmount'] || jsonb_build_object(
        'responseCode', v_decline_code, 'declineReason', v_decline_reason, 'declinedBy', 'service'
      )
    )::text;
  end if;
  v_applied := apply_approval(
    v_card, v_payment_token, p_authorization_id, p_network_id, p_network_transaction_id,
    p_request_id, p_reference, v_response_code, v_event_type, p_checks, v_details, p_held_amount,
    p_held_currency_code, p_hold_expires_at, p_is_increment, p_raised_payment_id, p_is_new_total,
    p_spending, p_decision, p_kind, remaining
  );
  limit_code := v_applied.limit_code;
  is_flagged := v_applied.is_flagged;
  approved_amount := v_applied.approved_amount;
  reserved := v_applied.reserved;
  if p_key_hash is not null then
    if v_is_open and limit_code is null and not is_reversed and not is_flagged
      and reserved is null and remaining = p_foreseen_tries
    then
      update idempotency_record as record
      set answer = p_answer
      where record.client_id = p_claimant_id and record.key_hash = p_key_hash;
      answer := p_answer;
    end if;
    answer := coalesce(v_first_answer, answer);
    is_own := answer = p_answer;
  end if;
  if v_applied.response_code is not null then
    v_decided_at := clock_timestamp();
  end if;
  if p_event_type is not null and reserved is null then
    v_sequence := v_sequence + 1;
    perform record_event(
      p_public_token, v_sequence, v_card.client_id, v_applied.event_type, p_request_id,
      v_applied.details, null, null
    );
  end if;
  if v_sequence > v_card.last_sequence then
    update card
    set last_sequence = v_sequence
    where card.public_token = p_public_token;
  end if;
  if v_applied.effect is not null then
    perform record_increment(
      v_applied.held, p_authorization_id, v_applied.effect, v_applied.held_amount, p_request_id
    );
  end if;
  update authorization_request as request
  set result = p_comparison,
    restored = request.restored or p_try_number = any (v_settled.restored_tries),
    remaining_tries = remaining,
    response_code = v_applied.response_code,
    checks = v_applied.checks,
    product_controls_version = (p_spending ->> 'productVersion')::integer,
    card_controls_version = (p_spending ->> 'cardVersion')::integer,
    spending = v_applied.taken,
    duration_ms = case when reserved is null then p_duration_ms end,
    decided_at = v_decided_at,
    approved_amount = settle_authorization.approved_amount,
    payment_id = (v_applied.held).payment_id
  where request.public_token = p_public_token and request.authorization_id = p_authorization_id;
  if v_settled.restored_tries <> array[p_try_number] then
    -- Each attempt is read through the index by try, also if its card has far more of them than
    -- the planner expects.
    foreach v_try_number in array v_settled.restored_tries loop
      update authorization_request as request
      set restored = true
      where request.public_token = p_public_token and request.authorization_id = (
        select attempt.authorization_id
        from authorization_request as attempt
        where attempt.public_token = p_public_token
          and (attempt.public_token, attempt.kind, attempt.try_number)
            <= (p_public_token, p_kind, v_try_number)
          and (attempt.public_token, attempt.kind, attempt.try_number)
            >= (p_public_token, p_kind, v_try_number)
          and attempt.try_number is not null
        order by attempt.kind desc, attempt.try_number desc
        limit 1
      );
    end loop;
  end if;
end
$function$;
