-- Finds the card of a line whose PIN a successor gets when it is activated, which is the card that
-- is in use before it: the newest card that was activated after the one that its PIN was carried
-- from, otherwise that one. Null for a PIN of its own.
create or replace function find_pin_source(
  p_line_token text,
  p_generation integer,
  p_pin_source_token text
) returns text
language plpgsql
as $function$
declare
  v_source_generation integer;
  v_source_token text;
begin
  if p_pin_source_token is null then
    return null;
  end if;
  select generation into v_source_generation
  from card_line
  where public_token = p_line_token and successor_token = p_pin_source_token;
  select successor_token into v_source_token
  from card_line
  where public_token = p_line_token and generation < p_generation
    and generation > coalesce(v_source_generation, 0)
    and activated_at is not null
  order by generation desc
  limit 1;
  return coalesce(v_source_token, p_pin_source_token);
end
$function$;
