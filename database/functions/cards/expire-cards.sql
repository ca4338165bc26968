-- Expires some of the cards whose last day is before p_today, and records an event for each.
-- Waiting commands to their chips end, except those that block a chip.
--
-- The list is materialized and joined row by row, so that no plan reads more than its rows.
--
-- Returns how many cards were expired.
create or replace function expire_cards(p_today date, p_limit integer) returns integer
language plpgsql
as $function$
declare
  v_public_tokens text[];
begin
  with due as materialized (
    select public_token, status_code
    from card
    where status_code not in ('41', '43', '46', '54', '83') and valid_until < (select p_today)
    order by valid_until
    limit p_limit
  ), expired as (
    update card
    set status_code = '54',
      status_before_expiry = due.status_code,
      last_sequence = last_sequence + 1
    from due
    where card.public_token = any(array[due.public_token])
      and card.status_code between due.status_code and due.status_code
      and p_today - card.valid_until > 0
    returning card.public_token, last_sequence, client_id, due.status_code
  ), recorded as (
    insert into event (public_token, sequence, client_id, type, details)
    select public_token, last_sequence, client_id, 'card.status_changed',
      json_build_object('from', status_code, 'to', '54')
    from expired
  )
  select array_agg(public_token)
  into v_public_tokens
  from expired;
  perform supersede_commands_of_closed(v_public_tokens);
  return coalesce(cardinality(v_public_tokens), 0);
end
$function$;
