-- Spends a use of a limit of a client over all its cards, or nothing if none is left.
--
-- The row of the limit is locked until the transaction ends, so that a concurrent use counts this
-- one. A null limit is no limit.
--
-- Returns whether a use was left.
create or replace function use_client_limit(
  p_client_id text,
  p_limit_name text,
  p_uses integer,
  p_window_seconds integer
) returns boolean
language plpgsql
as $function$
declare
  v_at bigint;
  v_limit client_limit;
  v_next record;
  v_forget_on_day integer;
  v_is_new boolean;
begin
  if p_uses is null then
    return true;
  end if;
  loop
    select * into v_limit
    from client_limit
    where client_id = p_client_id and limit_name = p_limit_name
    for no key update;
    v_at := now_microseconds();
    v_next := next_uses(v_limit.last_uses, v_limit.newest_uses, p_uses, p_window_seconds, v_at);
    if not v_next.is_left then
      return false;
    end if;
    v_forget_on_day := (v_at + p_window_seconds * 1000000::bigint) / 86400000000 + 1;
    if v_limit.client_id is not null then
      update client_limit
      set last_uses = v_next.last_uses,
        newest_uses = v_next.newest_uses,
        forget_on_day = greatest(v_forget_on_day, v_limit.forget_on_day)
      where client_id = p_client_id and limit_name = p_limit_name;
      return true;
    end if;
    insert into client_limit (client_id, limit_name, last_uses, newest_uses, forget_on_day)
    values (p_client_id, p_limit_name, v_next.last_uses, v_next.newest_uses, v_forget_on_day)
    on conflict (client_id, limit_name) do nothing
    returning true into v_is_new;
    -- Otherwise another transaction was first, and this use is added to its row.
    if v_is_new then
      return true;
    end if;
  end loop;
end
$function$;
