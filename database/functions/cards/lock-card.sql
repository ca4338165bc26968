-- Locks the row of a card until the transaction ends, and returns the row as it is under the lock.
--
-- An act locks this row first, because it numbers the card's events.
--
-- Returns a row of nulls if the card does not exist.
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
