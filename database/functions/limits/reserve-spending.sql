-- Reserves what an approval takes from the windows of its limits: all of them, or none if one has
-- too little left.
--
-- The windows belong to the line of cards that replaced each other. p_line_token is its first card.
--
-- p_spending has what src/storage/authorizations/applied-controls.ts writes: the amount, the count,
-- the basis, the limits, and the merchant that the card is to be locked to. A window never reopens:
-- if an earlier transaction began a newer window, this one counts into it. Several limits of one
-- window take from it once. A limit with isShadow decides nothing. The rules are those of
-- src/domain/spending.ts.
--
-- The row is locked until the transaction ends, so that a concurrent approval counts this one. Lock
-- order: after the card, the counter and the key.
--
-- p_spending has cash for a purchase with cash: the windows of the channel cashback take that
-- alone.
--
-- p_spending has isPartialAllowed if a part of the amount may be approved, and approvedAmount if
-- the limits of one transaction leave a part only. If the windows leave less
-- (find_partial_approval), that is taken, and the response code is 10.
--
-- Returns what was taken, for move_spending; null if nothing. It has lock if the card was locked to
-- its merchant now, which a client's decline undoes (release_merchant_lock). approved_amount is
-- null unless a part is approved. If a limit refuses, it returns the response code, with its reason
-- as in src/domain/decline-reason.ts in the details of the event. It also returns the checks, of
-- which the last one was foreseen to pass.
create or replace function reserve_spending(
  p_line_token text,
  p_spending jsonb,
  p_checks text,
  p_details text,
  out taken jsonb,
  out response_code text,
  out approved_amount bigint,
  out checks text,
  out details text
)
language plpgsql
as $function$
declare
  v_decline jsonb;
  v_known record;
  v_lock_to text := p_spending ->> 'lockTo';
  v_amount bigint := (p_spending ->> 'amount')::bigint;
  v_count integer := (p_spending ->> 'count')::integer;
  v_limit jsonb;
  v_window jsonb;
  v_windows jsonb := '{}';
  v_starts jsonb := '{}';
  v_excess text;
  v_shadow jsonb;
  v_part bigint;
  v_met_limit jsonb;
  v_checks jsonb;
begin
  checks := p_checks;
  details := p_details;
  approved_amount := (p_spending ->> 'approvedAmount')::bigint;
  if v_lock_to is null and coalesce(jsonb_array_length(p_spending -> 'limits'), 0) = 0 then
    return;
  end if;
  insert into card_spending (public_token)
  values (p_line_token)
  on conflict (public_token) do nothing;
  select windows, locked_merchant into v_known
  from card_spending
  where public_token = p_line_token
  for no key update;
  if v_lock_to <> v_known.locked_merchant then
    v_decline := jsonb_build_object(
      'responseCode', '03', 'declineReason', 'merchant_not_allowed',
      'declinedBy', (p_spending ->> 'lockedBy') || '_control', 'control', 'merchantLock'
    );
  end if;
  if (p_spending ->> 'isPartialAllowed')::boolean and v_decline is null then
    select part.amount, part.met_limit
    into v_part, v_met_limit
    from find_partial_approval(v_known.windows, p_spending -> 'limits', v_amount) as part;
    if v_part is not null then
      v_amount := v_part;
      approved_amount := v_part;
      response_code := '10';
    end if;
  end if;
  for v_limit in select jsonb_array_elements(p_spending -> 'limits') loop
    v_window := v_known.windows -> (v_limit ->> 'window');
    if v_window is null or v_window ->> 'startsOn' < v_limit ->> 'startsOn' then
      v_window := jsonb_build_object('startsOn', v_limit -> 'startsOn', 'amount', 0, 'count', 0);
    end if;
    v_window := v_window || jsonb_build_object(
      'amount', (v_window ->> 'amount')::bigint
        + case
          when v_limit ->> 'window' like '%.cashback'
          then least(v_amount, (p_spending ->> 'cash')::bigint)
          else v_amount
        end,
      'count', (v_window ->> 'count')::integer + v_count
    );
    v_windows := v_windows || jsonb_build_object(v_limit ->> 'window', v_window);
    v_starts := v_starts || jsonb_build_object(v_limit ->> 'window', v_window -> 'startsOn');
    -- An account check takes nothing, and no limit refuses it.
    v_excess := case
      when v_count = 0 then null
      when (v_window ->> 'amount')::bigint > (v_limit ->> 'maximumAmount')::bigint then 'amount'
      when (v_window ->> 'count')::integer > (v_limit ->> 'maximumCount')::integer then 'count'
    end;
    if v_excess is not null and (v_limit ->> 'isShadow')::boolean then
      v_shadow := coalesce(v_shadow, v_limit);
    elsif v_excess is not null and v_decline is null then
      v_decline := jsonb_build_object(
        'responseCode', case v_excess when 'amount' then '61' else '65' end,
        'declineReason', v_excess || '_over_limit',
        'declinedBy', (v_limit ->> 'owner') || '_control', 'control', v_limit -> 'control'
      );
    end if;
  end loop;
  if v_decline is null then
    update card_spending
    set windows = v_known.windows || v_windows,
      locked_merchant = coalesce(v_known.locked_merchant, v_lock_to)
    where public_token = p_line_token;
    taken := jsonb_build_object(
      'amount', v_amount, 'count', v_count, 'windows', v_starts, 'basis', p_spending -> 'basis'
    );
    if p_spending ? 'cash' then
      taken := taken || jsonb_build_object('cash', p_spending -> 'cash');
    end if;
    if v_known.locked_merchant is null and v_lock_to is not null then
      taken := taken || jsonb_build_object('lock', v_lock_to);
    end if;
  end if;
  if v_decline is null and v_shadow is null and response_code is null then
    return;
  end if;
  v_checks := p_checks::jsonb;
  if response_code = '10' then
    v_checks := jsonb_set(
      v_checks, '{-1}',
      v_checks -> -1 || jsonb_build_object(
        'control', v_met_limit -> 'control', 'owner', v_met_limit -> 'owner'
      )
    );
    details := (
      p_details::jsonb || jsonb_build_object('responseCode', '10', 'approvedAmount', v_amount)
    )::text;
  end if;
  if v_decline is not null then
    v_checks := jsonb_set(
      v_checks, '{-1}',
      v_checks -> -1 || jsonb_build_object(
        'result', 'failed', 'control', v_decline -> 'control',
        'owner', split_part(v_decline ->> 'declinedBy', '_', 1),
        'responseCode', v_decline -> 'responseCode'
      )
    );
  end if;
  if v_shadow is not null then
    v_checks := jsonb_insert(
      v_checks, '{-1}',
      jsonb_build_object(
        'check', 'shadow', 'result', 'failed', 'afterMs', v_checks -> -1 -> 'afterMs',
        'control', v_shadow -> 'control', 'owner', v_shadow -> 'owner'
      )
    );
  end if;
  checks := v_checks::text;
  if v_decline is not null then
    response_code := v_decline ->> 'responseCode';
    approved_amount := null;
  end if;
  details := (
    case
      when v_decline is null then details::jsonb
      else p_details::jsonb - array['paymentId', 'approvedAmount'] || v_decline
    end
    || jsonb_build_object(
      'checks', (
        select jsonb_agg(
          jsonb_build_object('check', noted -> 'check', 'result', noted -> 'result') order by place
        )
        from jsonb_array_elements(v_checks) with ordinality as each_check (noted, place)
      )
    )
  )::text;
end
$function$;
