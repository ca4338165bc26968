-- Whether a transaction counter was not used before: it is higher than the highest one that was
-- seen (p_highest_atc), or one of p_window below it that was not seen. Bit n of p_seen_atcs is the
-- counter p_highest_atc - n. p_highest_atc is null if the chip was not seen before.
create or replace function is_fresh_atc(
  p_highest_atc integer,
  p_seen_atcs bigint,
  p_atc integer,
  p_window integer
) returns boolean
language sql
immutable
as $function$
  select case
    when p_highest_atc is null or p_atc > p_highest_atc then true
    when p_highest_atc - p_atc > least(p_window, 63) then false
    else (p_seen_atcs >> (p_highest_atc - p_atc)) & 1 = 0
  end
$function$;
