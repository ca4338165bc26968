-- Locks a card's own row until the transaction ends, and returns it as it is then.
--
-- The row of the card is the first that an act locks: it numbers the card's events.
--
-- Returns a row of nulls where there is no such card.
create or replace function lock_card(p_public_token text) returns card
language plpgsql
as $function$
declare
  v_card card;
begin
  select * into v_card
  from card
  where public_token = p_public_token
  for no key update;
  return v_card;
end
$function$;
