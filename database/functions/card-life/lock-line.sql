-- Locks the first card of a line until the transaction ends, and then the others up to a
-- generation, in ascending order.
--
-- Acts of a line take turns on its first card, so that a card is replaced once, and no two of its
-- cards are active.
--
-- Returns their tokens in this order.
create or replace function lock_line(
  p_line_token text,
  p_generation integer
) returns text[]
language plpgsql
as $function$
declare
  v_public_tokens text[];
  v_public_token text;
begin
  perform lock_card(p_line_token);
  v_public_tokens := array(
    select successor_token
    from card_line
    where public_token = p_line_token and generation <= p_generation
    order by generation
  );
  foreach v_public_token in array v_public_tokens loop
    perform lock_card(v_public_token);
  end loop;
  return p_line_token || v_public_tokens;
end
$function$;
