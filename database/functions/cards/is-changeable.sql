-- Whether a card can still be changed: it is neither closed nor retired, and its last day is not
-- before p_today.
create or replace function is_changeable(
  p_card card,
  p_today date
) returns boolean
language sql
immutable
as $function$
select coalesce(
  p_card.status_code in ('02', '00', '62') and p_card.valid_until >= p_today
    and p_card.retired_at is null,
  false
)
$function$;
