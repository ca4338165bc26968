-- Applies the approval of an authorization: it takes what it spends from the limits
-- (reserve_spending), is reserved if the client of the card decides (reserve_decision), and
-- otherwise holds its amount (hold_payment). An authorization that is declined, or that has no
-- response code yet, is returned as it is. The caller has locked the cards.
--
-- The parameters have the meaning that they have in settle_authorization. p_payment_token is the
-- card of the payment that an increment raises (find_card_of_payment). p_remaining_tries are those
-- of the value p_kind; both are null if no try was spent.
--
-- Returns the answer and its event as the limits left them: limit_code, the response code that
-- limits or a merchant lock gave, is null if they allow all. If they allow a part, response_code is
-- 10, with approved_amount. response_code and checks are null if the approval was reserved.
-- held, effect and is_flagged are those of hold_payment; held is null if nothing is held.
create or replace function apply_approval(
  p_card card,
  p_payment_token text,
  p_authorization_id uuid,
  p_network_id text,
  p_network_transaction_id text,
  p_request_id text,
  p_reference text,
  p_response_code text,
  p_event_type text,
  p_checks text,
  p_details text,
  p_held_amount bigint,
  p_held_currency_code text,
  p_hold_expires_at timestamptz,
  p_is_increment boolean,
  p_raised_payment_id uuid,
  p_is_new_total boolean,
  p_spending jsonb,
  p_decision jsonb,
  p_kind text,
  p_remaining_tries integer,
  out response_code text,
  out event_type text,
  out checks text,
  out details text,
  out limit_code text,
  out approved_amount bigint,
  out taken jsonb,
  out reserved jsonb,
  out held_amount bigint,
  out held payment,
  out effect text,
  out is_flagged boolean
)
language plpgsql
as $function$
declare
  v_spending jsonb := p_spending;
  v_increment record;
  v_reserved record;
  v_held record;
begin
  response_code := p_response_code;
  event_type := p_event_type;
  checks := p_checks;
  details := p_details;
  held_amount := p_held_amount;
  is_flagged := false;
  if response_code is null or response_code not in ('00', '10') then
    return;
  end if;
  if p_is_increment and held_amount is not null and response_code = '00' then
    v_increment := compute_increment(
      p_payment_token, p_network_id, p_network_transaction_id, p_raised_payment_id, held_amount,
      p_is_new_total, p_held_currency_code, p_spending
    );
    held_amount := v_increment.added;
    v_spending := v_increment.spending;
  end if;
  if p_spending is not null then
    v_reserved := reserve_spending(p_card.line_token, v_spending, checks, details);
    checks := v_reserved.checks;
    details := v_reserved.details;
    taken := v_reserved.taken;
    approved_amount := v_reserved.approved_amount;
    held_amount := coalesce(approved_amount, held_amount);
    limit_code := v_reserved.response_code;
  end if;
  if limit_code = '10' then
    response_code := limit_code;
    event_type := 'authorization.approved';
  elsif limit_code is not null then
    response_code := limit_code;
    event_type := 'authorization.declined';
    return;
  end if;
  if p_decision is not null then
    -- conclude_decision answers, and holds the amount.
    reserved := reserve_decision(
      p_card.public_token, p_card.client_id, p_authorization_id, p_decision, checks, details,
      held_amount, p_held_currency_code, approved_amount, p_kind, p_remaining_tries
    );
    response_code := null;
    checks := null;
    approved_amount := null;
    return;
  end if;
  if held_amount is not null then
    v_held := hold_payment(
      p_card.public_token, p_card.client_id, p_authorization_id, p_network_id,
      p_network_transaction_id, p_request_id, p_reference, held_amount, p_held_currency_code,
      p_hold_expires_at, p_is_increment, p_payment_token, p_raised_payment_id
    );
    held := v_held.held;
    effect := v_held.effect;
    is_flagged := v_held.is_flagged;
    if p_is_increment then
      details := (details::jsonb || jsonb_build_object('paymentId', held.payment_id))::text;
    end if;
  end if;
end
$function$;
