-- Counts a wrong expiry or a wrong cryptogram (p_kind) that a card network gave for a card. It
-- spends no try, so it is watched.
--
-- More than p_mistakes within p_window microseconds count as guessing, which is reported once
-- within each window. Each instant is later than the previous one, so that the reported instant is
-- unique.
--
-- Returns whether to report guessing now.
create or replace function count_wrong_expiry(
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
  v_is_to_report boolean;
begin
  insert into wrong_expiry as known (public_token, client_id, kind, given_at, forget_on_day)
  values (p_public_token, p_network_id, p_kind, array[v_at], (v_at + p_window) / 86400000000 + 1)
  on conflict (public_token, client_id, kind) do update
  set given_at = greatest(v_at, known.given_at[1] + 1) || known.given_at[1 : p_mistakes - 1],
    reported_at = case
      when known.given_at[p_mistakes] > greatest(v_at, known.given_at[1] + 1) - p_window
        and coalesce(known.reported_at, 0) <= greatest(v_at, known.given_at[1] + 1) - p_window
      then greatest(v_at, known.given_at[1] + 1)
      else known.reported_at
    end,
    forget_on_day = greatest(excluded.forget_on_day, known.forget_on_day)
  returning coalesce(known.reported_at = known.given_at[1], false) into v_is_to_report;
  return v_is_to_report;
end
$function$;
