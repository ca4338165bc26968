-- Finds the card of a line whose PIN a successor gets when it is activated, which is the card that
-- is in use before it: the newest card that was activated after the one that its PIN was carried
-- from, otherwise that one. Null for a PIN of its own.
create or replace function find_pin_source(
  p_line_token text,
  p_generation integer,
  p_pin_source_token text
) returns text
language sql
as $function$
select case
  when p_pin_source_token is not null then coalesce(
    (
      select successor_token
      from card_line
      where public_token = p_line_token and generation < p_generation
        and activated_at is not null
        and generation > coalesce(
          (
            select source.generation
            from card_line as source
            where source.public_token = p_line_token
              and source.successor_token = p_pin_source_token
          ), 0
        )
      order by generation desc
      limit 1
    ), p_pin_source_token
  )
end
$function$;
