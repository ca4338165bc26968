-- Whether a card has a use of a limit left. It spends none. p_public_token is the first card of its
-- line.
--
-- The result stays true under the lock of the card's row if every use of the limit is spent under
-- that lock. A null limit is no limit.
create or replace function has_card_use(
  p_public_token text,
  p_limit_name text,
  p_uses integer,
  p_window_seconds integer
) returns boolean
language plpgsql
as $function$
declare
  v_limit card_limit;
  v_next record;
begin
  if p_uses is null then
    return true;
  end if;
  select * into v_limit
  from card_limit
  where public_token = p_public_token and limit_name = p_limit_name;
  v_next := next_uses(
    v_limit.last_uses, v_limit.newest_uses, p_uses, p_window_seconds, now_microseconds()
  );
  return v_next.is_left;
end
$function$;
