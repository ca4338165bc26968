-- Spends a use of a limit of a card, or nothing if none is left. Limits belong to the line of cards
-- that replaced each other, so p_public_token is its first card.
--
-- The row of the limit is locked until the transaction ends, so that a concurrent use counts this
-- one. A null limit is no limit.
--
-- Returns whether a use was left.
create or replace function use_card_limit(
  p_public_token text,
  p_limit_name text,
  p_uses integer,
  p_window_seconds integer
) returns boolean
language plpgsql
as $function$
declare
  v_at bigint;
  v_limit card_limit;
  v_next record;
  v_forget_on_day integer;
  v_is_new boolean;
begin
  if p_uses is null then
    return true;
  end if;
  loop
    select * into v_limit
    from card_limit
    where public_token = p_public_token and limit_name = p_limit_name
    for no key update;
    v_at := now_microseconds();
    v_next := next_uses(v_limit.last_uses, v_limit.newest_uses, p_uses, p_window_seconds, v_at);
    if not v_next.is_left then
      return false;
    end if;
    v_forget_on_day := (v_at + p_window_seconds * 1000000::bigint) / 86400000000 + 1;
    if v_limit.public_token is not null then
      update card_limit
      set last_uses = v_next.last_uses,
        newest_uses = v_next.newest_uses,
        forget_on_day = greatest(v_forget_on_day, v_limit.forget_on_day)
      where public_token = p_public_token and limit_name = p_limit_name;
      return true;
    end if;
    insert into card_limit (public_token, limit_name, last_uses, newest_uses, forget_on_day)
    values (p_public_token, p_limit_name, v_next.last_uses, v_next.newest_uses, v_forget_on_day)
    on conflict (public_token, limit_name) do nothing
    returning true into v_is_new;
    -- Otherwise another transaction was first, and this use is added to its row.
    if v_is_new then
      return true;
    end if;
  end loop;
end
$function$;
