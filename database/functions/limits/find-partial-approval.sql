-- Finds the part of an amount that the limits of a card leave: the least that is left in a window.
-- The rule is that of src/domain/spending.ts. Shadow limits decide nothing.
--
-- Returns the part, and the limit that leaves it; null if the limits allow the whole amount, leave
-- nothing, or refuse another transaction because of its count.
create or replace function find_partial_approval(
  p_windows jsonb,
  p_limits jsonb,
  p_amount bigint,
  out amount bigint,
  out met_limit jsonb
)
language sql
immutable
as $function$
  with met as (
    select each_limit,
      place,
      (each_limit ->> 'maximumAmount')::bigint
        - case when spent.is_open then (spent.known ->> 'amount')::bigint else 0 end as amount_left,
      (each_limit ->> 'maximumCount')::integer
        - case when spent.is_open then (spent.known ->> 'count')::integer else 0 end as count_left
    from jsonb_array_elements(p_limits) with ordinality as listed (each_limit, place)
    cross join lateral (
      select p_windows -> (each_limit ->> 'window') as known,
        coalesce(
          p_windows -> (each_limit ->> 'window') ->> 'startsOn' >= each_limit ->> 'startsOn', false
        ) as is_open
    ) as spent
    where not (each_limit ->> 'isShadow')::boolean
  )
  select met.amount_left, met.each_limit
  from met
  where met.amount_left > 0 and met.amount_left < p_amount
    and not exists (
      select
      from met as other
      where other.amount_left < met.amount_left or other.count_left <= 0
    )
  order by met.place
  limit 1;
$function$;
