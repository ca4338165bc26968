-- Finds the first control without money that objects to a transaction, by the same rules as
-- src/domain/decide-controls.ts: what the network did not send is on no list.
--
-- p_locked_merchant is the merchant that the card is locked to, null before the first one.
--
-- Returns the name of the control, null if none objects or there are no rules.
create or replace function find_objecting_control(
  p_rules jsonb,
  p_entry_mode text,
  p_transaction_type text,
  p_merchant jsonb,
  p_locked_merchant text
) returns text
language plpgsql
immutable
as $function$
declare
  v_channels text[] := array[case p_entry_mode when 'atm' then 'cash' else p_entry_mode end];
begin
  if p_rules is null then
    return null;
  end if;
  if p_transaction_type in ('cash', 'cashback', 'quasiCash') then
    v_channels := v_channels || p_transaction_type;
  end if;
  return case
    when is_off_list(p_rules -> 'merchants', array[coalesce(p_merchant ->> 'id', '')])
    then 'merchants'
    when is_off_list(
      p_rules -> 'merchantCategories', array[coalesce(p_merchant ->> 'categoryCode', '')]
    )
    then 'merchantCategories'
    when is_off_list(p_rules -> 'countries', array[coalesce(p_merchant ->> 'country', '')])
    then 'countries'
    when is_off_list(p_rules -> 'channels', v_channels) then 'channels'
    when (p_rules ->> 'merchantLock')::boolean
      and coalesce(p_merchant ->> 'id' <> coalesce(p_locked_merchant, p_merchant ->> 'id'), true)
    then 'merchantLock'
  end;
end
$function$;
