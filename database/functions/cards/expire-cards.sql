-- Expires some of the cards whose last day is before p_today (expire_card). Waiting commands to
-- their chips end, except those that block a chip.
--
-- A card that is locked is left to a later call. An act locks the cards of a line in its own order,
-- so that a wait for one of them could be a deadlock.
--
-- The list is materialized, and each card is read by its key, so that no plan reads more than its
-- rows.
--
-- Returns how many cards were expired.
create or replace function expire_cards(p_today date, p_limit integer) returns integer
language plpgsql
as $function$
declare
  v_public_tokens text[];
  v_public_token text;
  v_card card;
  v_count integer := 0;
begin
  with due as materialized (
    select public_token
    from card
    where status_code not in ('41', '43', '46', '54', '83') and valid_until < (select p_today)
    order by valid_until
    limit p_limit
  )
  select coalesce(array_agg(public_token), '{}')
  into v_public_tokens
  from due;
  foreach v_public_token in array v_public_tokens loop
    select * into v_card
    from card
    where public_token = v_public_token
    for no key update skip locked;
    if v_card.status_code not in ('41', '43', '46', '54', '83')
      and v_card.valid_until < p_today
    then
      perform expire_card(v_public_token);
      v_count := v_count + 1;
    end if;
  end loop;
  return v_count;
end
$function$;
