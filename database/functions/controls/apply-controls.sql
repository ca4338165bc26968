-- Applies the controls of a card and of its product to a transaction, before a try is spent: first
-- those of the product. Money that the card receives is not controlled.
--
-- p_line_token is the first card of the line of cards that replaced each other, which share what
-- they have spent.
--
-- Returns the versions, the currency, time zone and basis of the limits, the days of holds, the
-- limits of both, what the card has spent under them, and two objections: of the controls without
-- money, and of the shadow controls, which decide nothing. Members without a value are absent.
create or replace function apply_controls(
  p_public_token text,
  p_line_token text,
  p_product_controls jsonb,
  p_product_version integer,
  p_currency_code text,
  p_card_version integer,
  p_entry_mode text,
  p_transaction_type text,
  p_merchant jsonb
) returns jsonb
language plpgsql
as $function$
declare
  v_owner text;
  v_controls jsonb;
  v_control text;
  v_spending jsonb;
  -- They may have thousands of entries, and decide here only.
  v_lists constant text[] := array['merchants', 'merchantCategories', 'countries', 'channels'];
  v_card_controls jsonb;
  v_applied jsonb := jsonb_build_object(
    'productVersion', p_product_version, 'cardVersion', p_card_version,
    'currency', p_currency_code, 'timeZone', coalesce(p_product_controls ->> 'timeZone', 'UTC'),
    'limitBasis', coalesce(p_product_controls ->> 'limitBasis', 'authorized'),
    'holdDays', p_product_controls -> 'holdDays'
  );
begin
  if p_transaction_type in ('refund', 'credit') then
    return v_applied;
  end if;
  if p_card_version > 0 then
    select controls into v_card_controls
    from card_controls
    where public_token = p_public_token and version = p_card_version;
  end if;
  select jsonb_build_object('windows', windows, 'lockedMerchant', locked_merchant)
  into v_spending
  from card_spending
  where public_token = p_line_token;
  if found then
    v_applied := v_applied || jsonb_build_object('spending', v_spending);
  end if;
  foreach v_owner in array array['product', 'card'] loop
    v_controls := case when v_owner = 'product' then p_product_controls else v_card_controls end;
    continue when v_controls is null;
    v_control := find_objecting_control(
      v_controls, p_entry_mode, p_transaction_type, p_merchant, v_spending ->> 'lockedMerchant'
    );
    if v_control is not null and not v_applied ? 'objection' then
      v_applied := v_applied || jsonb_build_object(
        'objection', jsonb_build_object('owner', v_owner, 'control', v_control)
      );
    end if;
    if jsonb_typeof(v_controls -> 'shadow') = 'object' then
      v_control := find_objecting_control(
        v_controls -> 'shadow', p_entry_mode, p_transaction_type, p_merchant,
        v_spending ->> 'lockedMerchant'
      );
      if v_control is not null and not v_applied ? 'shadow' then
        v_applied := v_applied || jsonb_build_object(
          'shadow', jsonb_build_object('owner', v_owner, 'control', v_control)
        );
      end if;
      v_controls := jsonb_set(v_controls, '{shadow}', (v_controls -> 'shadow') - v_lists);
    end if;
    v_applied := v_applied || jsonb_build_object(v_owner, v_controls - v_lists);
  end loop;
  return v_applied;
end
$function$;
