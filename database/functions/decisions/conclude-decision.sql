-- Concludes a decision: the authorization is answered as the card's client, or what stood in for
-- it, decided. The payment, the limits, the event, the record and the stored answer of the
-- idempotency key commit together. A decision is concluded once: a second conclusion changes
-- nothing and returns the first.
--
-- The caller has composed the answer for what it knows, and the call does nothing if that has
-- changed; the outcome is then stale, and it returns what is true now:
--   p_called_answer: the answer that the client gave by a call, which counts before all others.
--   p_is_reversed: whether the network reversed the authorization while the client was asked, ended
--     the payment that it would raise, or opened its payment by an advice or a clearing.
--   p_is_taken: whether the key of the request has another answer by now, or was deleted.
--
-- p_is_approved says whether the authorization is approved. It then holds p_held_amount, at most
-- what was reserved, until p_hold_expires_at: its payment is opened, or that of an increment raised
-- (hold_payment). What the approval does not hold, and all of a decline, goes back to the limits.
-- An increment that was to be a new total adds what is missing to it now. If an increment named a
-- payment that it does not raise, it is flagged, and p_flagged_answer is stored.
--
-- Lock order: card of a raised payment, card, decision, transaction, key, payment, authorization,
-- spending.
--
-- Returns one of these outcomes, with the answer that was recorded:
--   concluded: it was concluded now.
--   known: it was concluded before.
--   stale: nothing was done.
--   unknown: no decision has this id.
--
-- Distributed by p_public_token, beside card.
create or replace function conclude_decision(
  p_public_token text,
  p_decision_id uuid,
  p_called_answer text,
  p_is_reversed boolean,
  p_is_taken boolean,
  p_is_approved boolean,
  p_response_code text,
  p_approved_amount bigint,
  p_held_amount bigint,
  p_hold_expires_at timestamptz,
  p_checks text,
  p_details text,
  p_duration_ms integer,
  p_answer bytea,
  p_flagged_answer bytea,
  p_decided_by text,
  p_verdict text,
  p_reason text,
  p_error text,
  p_status_code integer,
  p_decision_ms integer,
  p_request_hash bytea,
  p_answer_hash bytea,
  p_metadata text,
  p_now timestamptz,
  out outcome text,
  out called_answer text,
  out is_reversed boolean,
  out is_taken boolean,
  out response_code text,
  out approved_amount bigint,
  out payment_id uuid
)
language plpgsql
as $function$
#variable_conflict use_column
declare
  v_card card;
  v_sequence integer;
  v_payment_token text;
  v_decision decision;
  v_request authorization_request;
  v_pending jsonb;
  v_is_increment boolean;
  v_is_flagged boolean := false;
  v_held_amount bigint := p_held_amount;
  v_held record;
  v_details text := p_details;
  -- Citus rejects clock functions in an update.
  v_concluded_at timestamptz;
begin
  v_payment_token := find_card_of_decision(p_public_token, p_decision_id);
  perform lock_card(v_payment_token);
  v_card := lock_card(p_public_token);
  v_sequence := v_card.last_sequence + 1;
  select * into v_decision
  from decision
  where decision.public_token = p_public_token and decision.decision_id = p_decision_id
  for no key update;
  if not found then
    outcome := 'unknown';
    return;
  end if;
  select * into v_request
  from authorization_request as request
  where request.public_token = p_public_token
    and request.authorization_id = v_decision.authorization_id;
  if v_decision.concluded_at is not null then
    outcome := 'known';
    response_code := v_request.response_code;
    approved_amount := v_request.approved_amount;
    payment_id := v_request.payment_id;
    return;
  end if;
  v_pending := v_decision.pending::jsonb;
  called_answer := v_decision.called_answer;
  v_is_increment := jsonb_typeof(v_pending -> 'increment') = 'object';
  is_reversed := is_decision_reversed(v_decision, v_request, v_payment_token, p_now);
  is_taken := is_claim_taken(v_pending -> 'claim');
  if called_answer is distinct from p_called_answer or is_reversed <> p_is_reversed
    or is_taken <> p_is_taken
  then
    outcome := 'stale';
    return;
  end if;
  outcome := 'concluded';
  v_concluded_at := clock_timestamp();
  response_code := p_response_code;
  if not p_is_approved then
    perform move_spending(p_public_token, v_decision.authorization_id, null);
    if v_request.spending ? 'lock' then
      perform release_merchant_lock(
        p_public_token, v_decision.authorization_id, v_request.spending ->> 'lock',
        v_decision.asked_at
      );
    end if;
  elsif p_held_amount is not null then
    approved_amount := p_approved_amount;
    if (v_pending #>> '{increment,isNewTotal}')::boolean then
      v_held_amount := least(
        p_held_amount,
        (compute_increment(
          v_payment_token, v_request.network_id, v_request.network_transaction_id,
          (v_pending #>> '{increment,paymentId}')::uuid,
          coalesce(v_request.billing_amount, v_request.amount), true,
          v_decision.held_currency_code, null
        )).added
      );
    end if;
    if v_held_amount < v_decision.held_amount then
      perform move_spending(
        p_public_token, v_decision.authorization_id, v_held_amount - v_decision.held_amount
      );
    end if;
    v_held := hold_payment(
      p_public_token, v_decision.client_id, v_decision.authorization_id, v_request.network_id,
      v_request.network_transaction_id, v_request.request_id, v_request.reference, v_held_amount,
      v_decision.held_currency_code, p_hold_expires_at, v_is_increment, v_payment_token,
      (v_pending #>> '{increment,paymentId}')::uuid
    );
    payment_id := (v_held.held).payment_id;
    v_is_flagged := v_held.is_flagged;
    if v_is_increment then
      v_details := (v_details::jsonb || jsonb_build_object('paymentId', payment_id))::text;
    end if;
  end if;
  if not is_taken then
    perform store_claimed_answer(
      v_pending -> 'claim', case when v_is_flagged then p_flagged_answer else p_answer end
    );
  end if;
  perform record_event(
    p_public_token, v_sequence, v_decision.client_id,
    case
      when p_is_approved then 'authorization.approved'
      else 'authorization.declined'
    end,
    v_request.request_id, v_details, null, null
  );
  update card
  set last_sequence = v_sequence
  where card.public_token = p_public_token;
  if payment_id is not null and v_is_increment then
    perform record_increment(
      v_held.held, v_decision.authorization_id, v_held.effect, v_held_amount,
      v_request.request_id
    );
  end if;
  update authorization_request as request
  set response_code = p_response_code,
    checks = p_checks,
    duration_ms = p_duration_ms,
    decided_at = v_concluded_at,
    approved_amount = conclude_decision.approved_amount,
    payment_id = conclude_decision.payment_id
  where request.public_token = p_public_token
    and request.authorization_id = v_decision.authorization_id;
  update decision
  set pending = null,
    concluded_at = v_concluded_at,
    decided_by = p_decided_by,
    verdict = p_verdict,
    approved_amount = conclude_decision.approved_amount,
    reason = p_reason,
    response_code = p_response_code,
    error = p_error,
    status_code = p_status_code,
    duration_ms = p_decision_ms,
    request_hash = p_request_hash,
    answer_hash = p_answer_hash,
    metadata = p_metadata
  where decision.public_token = p_public_token and decision.decision_id = p_decision_id;
end
$function$;
