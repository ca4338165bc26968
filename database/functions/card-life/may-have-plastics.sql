-- Whether a card can still have plastics: it is neither closed nor retired. An expired card can get
-- one by its renewal.
create or replace function may_have_plastics(p_card card) returns boolean
language sql
immutable
as $function$
select coalesce(
  p_card.status_code in ('02', '00', '62', '54') and p_card.retired_at is null,
  false
)
$function$;
