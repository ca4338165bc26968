-- Finds the card that took the place of a card: the newest one of its line that was activated.
--
-- Returns null if no other card did. An active card is always the current one of its line.
create or replace function find_current_card(p_card card) returns text
language plpgsql
as $function$
declare
  v_current_token text;
begin
  if p_card.status_code = '00' then
    return null;
  end if;
  select successor_token into v_current_token
  from card_line
  where public_token = p_card.line_token and generation > p_card.generation
    and activated_at is not null
  order by generation desc
  limit 1;
  return v_current_token;
end
$function$;
