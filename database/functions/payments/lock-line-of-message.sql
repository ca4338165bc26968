-- Locks the first card of the line of a card that a message of a network names. So messages of one
-- line take turns, whichever of its cards they name.
--
-- Returns the tokens of the line, the first card first; null if no card has this token.
create or replace function lock_line_of_message(p_public_token text) returns text[]
language plpgsql
as $function$
declare
  v_line_token text;
  v_first card;
begin
  select line_token into v_line_token
  from card
  where public_token = p_public_token;
  if v_line_token is null then
    return null;
  end if;
  v_first := lock_card(v_line_token);
  if v_first.replaced_by is null then
    return array[v_first.public_token];
  end if;
  return v_line_token || array(
    select successor_token
    from card_line
    where public_token = v_line_token
    order by generation
  );
end
$function$;
