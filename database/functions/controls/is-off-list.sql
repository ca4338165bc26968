-- Whether a list of controls objects to one of these values: one is blocked, or something is
-- allowed and one is not. A block beats an allow.
create or replace function is_off_list(
  p_list jsonb,
  p_values text[]
) returns boolean
language sql
immutable
as $function$
select p_list -> 'blocked' ?| p_values
  or (jsonb_typeof(p_list -> 'allowed') = 'array' and not p_list -> 'allowed' ?& p_values)
$function$;
