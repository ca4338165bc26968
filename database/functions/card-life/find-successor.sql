-- Finds the card that replaced a card: the newest one of a later generation that was activated, or
-- can still be. A successor that was closed unused is not one.
--
-- p_today is the day of the service: a card whose last day is before it has expired.
--
-- Returns its token; null if the card can be replaced.
create or replace function find_successor(
  p_line_token text,
  p_generation integer,
  p_today date
) returns text
language plpgsql
as $function$
declare
  v_successor record;
  v_card card;
begin
  for v_successor in
    select successor_token, activated_at
    from card_line
    where public_token = p_line_token and generation > p_generation
    order by generation desc
  loop
    select * into v_card
    from card
    where public_token = v_successor.successor_token;
    if v_successor.activated_at is not null or is_changeable(v_card, p_today) then
      return v_successor.successor_token;
    end if;
  end loop;
  return null;
end
$function$;
