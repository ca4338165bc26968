-- Records a message of a network about a payment and does what it does: a reversal, an advice, a
-- clearing or a refund. The message, the sums and the event commit together.
--
-- A message may name a successor while its payment belongs to a card that it replaced
-- (find_card_of_payment): that card has the message and the event, which names the card that took
-- its place. card_token is returned with the first three outcomes below.
--
-- The first message of a network under a key decides, whichever cards of the line a message and its
-- repeat name. A repeat changes nothing and returns what was done first. Lock order: first card of
-- the line, card, payment, authorization, spending.
--
-- p_is_key_shared says that advices, clearings and refunds have one list of keys.
--
-- p_amount is what a reversal takes back, or what remains (p_is_remaining), or null: all that is
-- open. More than is open is never taken back. p_hold_expires_at is when a hold that this message
-- opens expires, unless the product has days of its own; p_network_expires_at is the expiry that
-- the network itself gives a hold, or null. p_now is the time of the service.
--
-- Returns one of these outcomes. The first three also return what was done, now or before:
--   recorded: it was done now.
--   repeated: it was done before under the same key.
--   reused: another kind, amount or currency was recorded under the same key.
--   unknown_card, unknown_payment: nothing has this token, or this p_payment_id.
--   wrong_currency: the payment has another currency; or the message would open a payment that is
--     not in the card's currency, and so cannot be charged without a conversion.
--   too_large: a sum of the payment would exceed 2^53 - 1.
--
-- Distributed by p_public_token, beside card.
create or replace function record_payment_message(
  p_public_token text,
  p_network_id text,
  p_message_id uuid,
  p_kind text,
  p_message_key text,
  p_is_key_shared boolean,
  p_payment_id uuid,
  p_network_transaction_id text,
  p_amount bigint,
  p_is_remaining boolean,
  p_currency_code text,
  p_is_final boolean,
  p_hold_expires_at timestamptz,
  p_network_expires_at timestamptz,
  p_now timestamptz,
  p_merchant jsonb,
  p_reference text,
  p_request_id text,
  out outcome text,
  out card_token text,
  out message_id uuid,
  out payment_id uuid,
  out effect text,
  out amount bigint,
  out applied bigint
)
language plpgsql
as $function$
#variable_conflict use_column
declare
  v_line text[];
  v_public_token text;
  v_card card;
  v_known payment_message;
  v_payment payment;
  v_before payment;
  v_open bigint;
  v_position integer;
  v_currency_code text;
  v_hold_days integer;
  v_hold_expires_at timestamptz;
  v_message text := case
    when p_kind = 'clearing' and p_is_final then 'finalClearing'
    else p_kind
  end;
  -- Clearings and refunds are records of one list, and share their keys. On a link, the processing
  -- code of an advice tells whether it is a refund, so that its key must not depend on the kind.
  v_kinds text[] := case
    when p_is_key_shared and p_kind <> 'reversal' then array['advice', 'clearing', 'refund']
    when p_kind in ('clearing', 'refund') then array['clearing', 'refund']
    else array[p_kind]
  end;
  v_stated text := concat_ws(
    ' ', v_message, p_amount, p_currency_code, case when p_is_remaining then 'remaining' end
  );
begin
  v_line := lock_line_of_message(p_public_token);
  foreach v_public_token in array coalesce(v_line, '{}') loop
    select * into v_known
    from payment_message as message
    where message.message_key = p_message_key and message.public_token = v_public_token
      and message.network_id = p_network_id and message.kind = any (v_kinds);
    if found then
      outcome := case when v_known.stated = v_stated then 'repeated' else 'reused' end;
      card_token := v_public_token;
      message_id := v_known.message_id;
      payment_id := v_known.payment_id;
      effect := v_known.effect;
      amount := v_known.amount;
      applied := v_known.applied;
      return;
    end if;
  end loop;
  v_public_token := find_card_of_payment(
    p_public_token, p_network_id, p_payment_id, p_network_transaction_id
  );
  v_card := lock_card(v_public_token);
  if v_card.public_token is null then
    outcome := 'unknown_card';
    return;
  end if;
  card_token := v_public_token;
  v_payment := find_payment_to_change(
    v_public_token, p_network_id, p_payment_id, p_network_transaction_id
  );
  if v_payment.payment_id is null and p_payment_id is not null
    and p_kind in ('reversal', 'advice')
  then
    outcome := 'unknown_payment';
    return;
  end if;
  if v_payment.currency_code <> p_currency_code then
    outcome := 'wrong_currency';
    return;
  end if;
  effect := choose_payment_effect(
    v_message, coalesce(derive_payment_state(v_payment), 'none')
  );
  -- An advice of nothing, such as that of an account check, opens no payment.
  if effect = 'openDecided' and p_amount = 0 then
    effect := 'record';
  end if;
  if p_kind = 'advice' or effect in ('force', 'forceFinal', 'credit') then
    select product.currency_code, (product.controls ->> 'holdDays')::integer
    into v_currency_code, v_hold_days
    from product
    where product.product_id = v_card.product_id;
  end if;
  if effect in ('openDecided', 'force', 'forceFinal', 'credit')
    and p_currency_code <> v_currency_code
  then
    outcome := 'wrong_currency';
    effect := null;
    return;
  end if;
  v_hold_expires_at := coalesce(p_now + v_hold_days * interval '24 hours', p_hold_expires_at);
  -- A final clearing of nothing releases a hold, and moves nothing where none is.
  if v_message = 'finalClearing' and p_amount = 0 and effect <> 'clearFinal' then
    effect := 'record';
  end if;
  -- A declined authorization holds nothing, and no original follows.
  if effect = 'remember'
    and has_declined_request(v_public_token, p_network_id, p_network_transaction_id)
  then
    effect := 'record';
  end if;
  v_open := coalesce(derive_open_amount(v_payment), 0);
  amount := case
    when p_amount is null then v_open
    when p_is_remaining
    then greatest(0, coalesce(v_payment.approved - v_payment.reversed, 0) - p_amount)
    else p_amount
  end;
  -- Every language represents whole numbers up to 2^53 - 1 exactly.
  if 9007199254740991 < (
    case
      when effect in ('replace', 'reopen') then v_payment.reversed + v_payment.cleared + amount
      when effect in ('clear', 'clearFinal', 'clearLate') then v_payment.cleared + amount
      when effect = 'refund' then v_payment.refunded + amount
    end
  )
  then
    outcome := 'too_large';
    effect := null;
    amount := null;
    return;
  end if;
  outcome := 'recorded';
  message_id := p_message_id;
  applied := case
    when effect = 'release' then least(amount, v_open)
    when effect = 'replace' then amount - v_open
    when effect in ('record', 'remember') then 0
    else amount
  end;
  if effect in ('openDecided', 'force', 'forceFinal', 'credit') then
    insert into payment (
      public_token, payment_id, client_id, network_id, network_transaction_id, opened_by,
      currency_code, approved, cleared, refunded, is_final, hold_expires_at
    )
    values (
      v_public_token, p_message_id, v_card.client_id, p_network_id, p_network_transaction_id,
      p_kind, p_currency_code, case when effect = 'openDecided' then p_amount else 0 end,
      case when p_kind = 'clearing' then p_amount else 0 end,
      case when p_kind = 'refund' then p_amount else 0 end, effect in ('forceFinal', 'credit'),
      case when effect = 'openDecided' then coalesce(p_network_expires_at, v_hold_expires_at) end
    )
    returning * into v_payment;
    v_position := 0;
  elsif v_payment.payment_id is not null then
    v_before := v_payment;
    if effect = 'release' then
      v_payment.reversed := v_payment.reversed + applied;
    elsif effect in ('replace', 'reopen') then
      v_payment.approved := v_payment.reversed + v_payment.cleared + amount;
      v_payment.hold_expires_at := coalesce(
        p_network_expires_at,
        case when effect = 'replace' then v_payment.hold_expires_at end,
        v_hold_expires_at
      );
    elsif effect in ('clear', 'clearFinal', 'clearLate') then
      v_payment.cleared := v_payment.cleared + amount;
    elsif effect = 'refund' then
      v_payment.refunded := v_payment.refunded + amount;
    end if;
    -- If a part was cleared and the rest is taken back, nothing more follows.
    v_payment.is_final := v_payment.is_final or effect in ('clearFinal', 'clearLate')
      or effect = 'release' and v_payment.cleared > 0 and applied = v_open;
    v_payment.is_expired := v_payment.is_expired and effect not in ('reopen', 'clearLate');
    v_payment.is_reopened := v_payment.is_reopened or effect = 'reopen';
    v_payment.message_count := v_payment.message_count + 1;
    v_position := v_payment.message_count;
    update payment
    set approved = v_payment.approved, reversed = v_payment.reversed, cleared = v_payment.cleared,
      refunded = v_payment.refunded, is_final = v_payment.is_final,
      is_expired = v_payment.is_expired, is_reopened = v_payment.is_reopened,
      hold_expires_at = v_payment.hold_expires_at, message_count = v_payment.message_count
    where payment.public_token = v_public_token and payment.payment_id = v_payment.payment_id;
    -- Moves the amount that the message gives back or takes.
    perform move_payment_spending(v_before, v_payment);
  end if;
  payment_id := v_payment.payment_id;
  insert into payment_message (
    public_token, message_id, payment_id, position, kind, network_id, message_key,
    network_transaction_id, reference, request_id, effect, stated, amount, applied, currency_code,
    is_final, merchant, remembered_until
  )
  values (
    v_public_token, p_message_id, v_payment.payment_id, coalesce(v_position, 0), p_kind,
    p_network_id, p_message_key, p_network_transaction_id, p_reference, p_request_id,
    record_payment_message.effect, v_stated, record_payment_message.amount,
    record_payment_message.applied,
    coalesce(p_currency_code, v_payment.currency_code), p_is_final, p_merchant,
    case when effect = 'remember' then p_now + interval '24 hours' end
  );
  if effect not in ('record', 'remember') then
    update card
    set last_sequence = v_card.last_sequence + 1
    where card.public_token = v_public_token;
    perform record_event(
      v_public_token, v_card.last_sequence + 1, v_card.client_id,
      case when effect in ('force', 'forceFinal') then 'payment.forced' else 'payment.changed' end,
      p_request_id,
      describe_payment_change(
        v_payment, p_message_id, p_kind, effect, applied, find_current_card(v_card)
      ),
      null, null
    );
  end if;
end
$function$;
