-- Applies the controls of a card and of its product to a transaction, before a try is spent: first
-- those of the product. Money that the card receives is not controlled.
--
-- Returns the versions, the currency and time zone of the limits, the limits of both, and two
-- objections: of the controls without money, and of the shadow controls, which decide nothing.
-- Members without a value are absent.
create or replace function apply_controls(
  p_public_token text,
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
  v_locked_merchant text;
  v_card_controls jsonb;
  v_applied jsonb := jsonb_build_object(
    'productVersion', p_product_version, 'cardVersion', p_card_version,
    'currency', p_currency_code, 'timeZone', coalesce(p_product_controls ->> 'timeZone', 'UTC')
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
  if '{"merchantLock": true}' <@ any (
    array[
      p_product_controls, p_product_controls -> 'shadow', v_card_controls,
      v_card_controls -> 'shadow'
    ]
  )
  then
    select locked_merchant into v_locked_merchant
    from card_spending
    where public_token = p_public_token;
  end if;
  foreach v_owner in array array['product', 'card'] loop
    v_controls := case when v_owner = 'product' then p_product_controls else v_card_controls end;
    continue when v_controls is null;
    v_control := find_objecting_control(
      v_controls, p_entry_mode, p_transaction_type, p_merchant, v_locked_merchant
    );
    if v_control is not null and not v_applied ? 'objection' then
      v_applied := v_applied || jsonb_build_object(
        'objection', jsonb_build_object('owner', v_owner, 'control', v_control)
      );
    end if;
    v_control := find_objecting_control(
      nullif(v_controls -> 'shadow', 'null'), p_entry_mode, p_transaction_type, p_merchant,
      v_locked_merchant
    );
    if v_control is not null and not v_applied ? 'shadow' then
      v_applied := v_applied || jsonb_build_object(
        'shadow', jsonb_build_object('owner', v_owner, 'control', v_control)
      );
    end if;
    v_applied := v_applied || jsonb_build_object(
      v_owner,
      jsonb_build_object(
        'limits', v_controls -> 'limits', 'singleUse', v_controls -> 'singleUse',
        'merchantLock', v_controls -> 'merchantLock',
        'shadow', case
          when jsonb_typeof(v_controls -> 'shadow') = 'object' then jsonb_build_object(
            'limits', v_controls #> '{shadow,limits}', 'singleUse',
            v_controls #> '{shadow,singleUse}'
          )
        end
      )
    );
  end loop;
  return v_applied;
end
$function$;
