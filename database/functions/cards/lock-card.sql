-- Locks a card's own row until the transaction ends, and returns it as it is then.
--
-- The row of the card is the first that an act locks: it numbers the card's events. With
-- p_skip_locked a row that another transaction has locked is not waited for.
--
-- Returns a row of nulls where there is no such card, or it was skipped.
create or replace function lock_card(
  p_public_token text,
  p_skip_locked boolean
) returns card
language plpgsql
as $function$
declare
  v_card card;
begin
  if p_skip_locked then
    select * into v_card
    from card
    where public_token = p_public_token
    for no key update skip locked;
  else
    select * into v_card
    from card
    where public_token = p_public_token
    for no key update;
  end if;
  return v_card;
end
$function$;
