-- Answers an authorization that spends no try: its row of authorization_request, its event, the
-- claim of its idempotency key with the answer, and the count of a mistake commit together.
--
-- p_mistakes is null unless the request had a mistake, whose kind is p_mistake. More than
-- p_mistakes of them within p_window microseconds count as guessing.
--
-- p_chip is null unless the request has a right cryptogram that is not used yet; its chip is used
-- with the answer (lock_chip, use_chip). is_replayed: it was used before, nothing was done, and the
-- caller declines.
--
-- An approval reserves what it takes from the limits (reserve_spending). If a limit refuses, the
-- authorization is declined, and the answer of this call is not stored: it was an approval. If it
-- leaves a part that may be approved, the answer is 10 with approved_amount, and is not stored
-- either. p_spending is null without controls.
--
-- Lock order: card of a raised payment, card, chip, transaction, key, spending, mistake.
--
-- p_held_amount is what an approval holds, null if it holds nothing: its payment, which has the id
-- of the authorization, is opened with the answer. An increment (p_is_increment) raises the payment
-- p_raised_payment_id, or that of its network transaction id (raise_payment). With p_is_new_total,
-- p_held_amount is the new total, and the difference is taken. If the increment named a payment
-- that it does not raise, it is flagged, and the answer, which names that payment, is not stored.
--
-- p_decision is null unless the card's client decides approvals
-- (src/storage/decisions/reserve.ts). An approval is then reserved only (reserve_decision): its key
-- is claimed, what it takes from the limits is taken, and conclude_decision does the rest.
--
-- Returns whether the key was free and no reversal overtook the transaction; otherwise the call
-- does nothing. is_reversed: a reversal came before this approval, which the caller declines. Also
-- returns whether to report guessing now, the response code that limits or a merchant lock gave,
-- null if they allow all, whether an increment is flagged, the approved part of the amount, or
-- null, and what reserve_decision returns if the approval was reserved, otherwise null. p_now is
-- the time of the service.
--
-- Distributed by p_public_token, beside card.
create or replace function answer_authorization(
  p_public_token text,
  p_client_id text,
  p_authorization_id uuid,
  p_network_id text,
  p_request_id text,
  p_reference text,
  p_entry_mode text,
  p_transaction_type text,
  p_amount bigint,
  p_currency_code text,
  p_billing_amount bigint,
  p_billing_currency_code text,
  p_cashback_amount bigint,
  p_merchant jsonb,
  p_network_transaction_id text,
  p_response_code text,
  p_checks text,
  p_duration_ms integer,
  p_claimant_id text,
  p_key_hashes bytea[],
  p_request_fingerprint bytea,
  p_claim_id uuid,
  p_answer bytea,
  p_transaction_hashes bytea[],
  p_message_class text,
  p_trace text,
  p_transmitted_at text,
  p_acquirer text,
  p_mistakes integer,
  p_window bigint,
  p_mistake text,
  p_event_type text,
  p_details text,
  p_held_amount bigint,
  p_held_currency_code text,
  p_hold_expires_at timestamptz,
  p_is_increment boolean,
  p_raised_payment_id uuid,
  p_is_new_total boolean,
  p_now timestamptz,
  p_spending jsonb,
  p_decision jsonb,
  p_chip jsonb,
  out is_answered boolean,
  out is_reversed boolean,
  out is_guessing boolean,
  out limit_code text,
  out is_flagged boolean,
  out approved_amount bigint,
  out reserved jsonb,
  out is_replayed boolean
)
language plpgsql
as $function$
declare
  v_card card;
  v_sequence integer;
  v_payment_token text := p_public_token;
  v_decided_at timestamptz;
  v_key_hash bytea;
  v_applied record;
begin
  if p_is_increment and p_held_amount is not null then
    v_payment_token := find_card_of_payment(
      p_public_token, p_network_id, p_raised_payment_id, p_network_transaction_id
    );
    perform lock_card(v_payment_token);
  end if;
  v_card := lock_card(p_public_token);
  v_sequence := v_card.last_sequence + 1;
  is_answered := false;
  is_flagged := false;
  is_reversed := p_held_amount is not null and not p_is_increment
    and p_network_transaction_id is not null
    and has_early_reversal(p_public_token, p_network_id, p_network_transaction_id, p_now);
  is_guessing := false;
  is_replayed := false;
  if is_reversed then
    return;
  end if;
  if p_chip is not null and not lock_chip(p_public_token, p_chip) then
    -- A repeat of the request has the same cryptogram, and gets the first answer.
    is_replayed := not is_idempotency_key_known(p_claimant_id, p_key_hashes);
    return;
  end if;
  if p_key_hashes is not null then
    if not begin_network_transaction(
      p_network_id, p_transaction_hashes, p_message_class, p_trace, p_transmitted_at, p_acquirer,
      p_network_transaction_id
    )
    then
      return;
    end if;
    if not claim_idempotency_key(
      p_claimant_id, p_key_hashes, p_request_fingerprint, p_claim_id, p_answer
    )
    then
      return;
    end if;
  end if;
  is_answered := true;
  if p_chip is not null then
    perform use_chip(p_public_token, p_chip);
  end if;
  v_applied := apply_approval(
    v_card, v_payment_token, p_authorization_id, p_network_id, p_network_transaction_id,
    p_request_id, p_reference, p_response_code, p_event_type, p_checks, p_details, p_held_amount,
    p_held_currency_code, p_hold_expires_at, p_is_increment, p_raised_payment_id, p_is_new_total,
    p_spending, p_decision, null, null
  );
  limit_code := v_applied.limit_code;
  is_flagged := v_applied.is_flagged;
  approved_amount := v_applied.approved_amount;
  reserved := v_applied.reserved;
  if limit_code is not null or is_flagged then
    foreach v_key_hash in array coalesce(p_key_hashes, '{}') loop
      update idempotency_record
      set answer = null
      where client_id = p_claimant_id and key_hash = v_key_hash;
    end loop;
  end if;
  if reserved is null then
    v_decided_at := clock_timestamp();
  end if;
  insert into authorization_request (
    public_token, authorization_id, client_id, network_id, request_id, reference, entry_mode,
    transaction_type, amount, currency_code, billing_amount, billing_currency_code,
    cashback_amount, merchant, network_transaction_id, approved_amount, payment_id, response_code,
    checks, product_controls_version, card_controls_version, spending, duration_ms, decided_at
  )
  values (
    p_public_token, p_authorization_id, p_client_id, p_network_id, p_request_id, p_reference,
    p_entry_mode, p_transaction_type, p_amount, p_currency_code, p_billing_amount,
    p_billing_currency_code, p_cashback_amount, p_merchant, p_network_transaction_id,
    approved_amount, (v_applied.held).payment_id, v_applied.response_code, v_applied.checks,
    (p_spending ->> 'productVersion')::integer, (p_spending ->> 'cardVersion')::integer,
    v_applied.taken, case when reserved is null then p_duration_ms end, v_decided_at
  );
  if reserved is not null then
    return;
  end if;
  perform record_event(
    p_public_token, v_sequence, p_client_id, v_applied.event_type, p_request_id, v_applied.details,
    null, null
  );
  update card
  set last_sequence = v_sequence
  where public_token = p_public_token;
  if v_applied.effect is not null then
    perform record_increment(
      v_applied.held, p_authorization_id, v_applied.effect, v_applied.held_amount, p_request_id
    );
  end if;
  if p_mistakes is not null then
    is_guessing := count_mistake(
      p_public_token, p_network_id, p_mistake, p_mistakes, p_window
    );
  end if;
end
$function$;
