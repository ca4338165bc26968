-- Returns which of the 64 transaction counters up to the highest one were seen, once p_atc is among
-- them. The arguments are those of is_fresh_atc.
create or replace function add_seen_atc(
  p_highest_atc integer,
  p_seen_atcs bigint,
  p_atc integer
) returns bigint
language sql
immutable
as $function$
  select case
    when p_atc <= p_highest_atc then p_seen_atcs | (1::bigint << (p_highest_atc - p_atc))
    when p_atc - p_highest_atc > 63 then 1
    else (p_seen_atcs << (p_atc - p_highest_atc)) | 1
  end
$function$;
