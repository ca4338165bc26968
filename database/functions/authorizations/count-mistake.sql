-- Counts a mistake: a wrong expiry, cryptogram, value of a stripe or 3-D Secure value (p_kind) that
-- a card network gave for a card. It spends no try, so it is watched.
--
-- More than p_mistakes within p_window microseconds count as guessing, which is reported once
-- within each window. Of the values of stripes and of 3-D Secure, the one with this number is the
-- last that is compared (src/operations/chips/check-stripe.ts), so that one is reported. Each
-- instant is later than the previous one, so that the reported instant is unique.
--
-- Returns whether to report guessing now.
create or replace function count_mistake(
  p_public_token text,
  p_network_id text,
  p_kind text,
  p_mistakes integer,
  p_window bigint
) returns boolean
language plpgsql
as $function$
declare
  v_at bigint := extract(epoch from clock_timestamp()) * 1000000;
  v_enough integer := case
    when p_kind in ('card_value', 'cavv') then p_mistakes - 1
    else p_mistakes
  end;
  v_is_to_report boolean;
begin
  insert into card_mistake as known (public_token, client_id, kind, given_at, forget_on_day)
  values (p_public_token, p_network_id, p_kind, array[v_at], (v_at + p_window) / 86400000000 + 1)
  on conflict (public_token, client_id, kind) do update
  set given_at = greatest(v_at, known.given_at[1] + 1) || known.given_at[1 : p_mistakes - 1],
    reported_at = case
      when known.given_at[v_enough] > greatest(v_at, known.given_at[1] + 1) - p_window
        and coalesce(known.reported_at, 0) <= greatest(v_at, known.given_at[1] + 1) - p_window
      then greatest(v_at, known.given_at[1] + 1)
      else known.reported_at
    end,
    forget_on_day = greatest(excluded.forget_on_day, known.forget_on_day)
  returning coalesce(known.reported_at = known.given_at[1], false) into v_is_to_report;
  return v_is_to_report;
end
$function$;
