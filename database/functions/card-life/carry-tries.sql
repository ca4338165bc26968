-- Gives a successor the tries of the PIN that it has from a card of its line, when it is activated.
--
-- If the card that the PIN comes from is retired in the same transaction (p_is_retired_now), it has
-- no try left afterwards: a request that read it as active before finds none. So both cards
-- together never compare more PINs than the tries of one.
--
-- Wrong tries stay spent, and a right PIN restores them as it would have on the former card. The
-- caller has locked the line.
create or replace function carry_tries(
  p_from_token text,
  p_to_token text,
  p_is_retired_now boolean
) returns void
language plpgsql
as $function$
declare
  v_from try_counter;
  v_to try_counter;
  v_left integer;
  v_spent integer;
begin
  select * into v_from
  from try_counter
  where public_token = p_from_token and kind = 'pin'
  for no key update;
  select * into v_to
  from try_counter
  where public_token = p_to_token and kind = 'pin'
  for no key update;
  v_left := least(
    v_from.try_limit - (v_from.spent - v_from.restored),
    v_to.try_limit - (v_to.spent - v_to.restored)
  );
  v_spent := v_to.restored + v_to.try_limit - v_left;
  update try_counter
  set spent = v_spent,
    is_withdrawn = v_from.is_withdrawn or v_to.is_withdrawn,
    block_reported = v_from.is_withdrawn or v_to.is_withdrawn,
    outstanding_tries = array(select generate_series(v_to.restored + 1, v_spent)),
    open_since = array_fill(0::bigint, array[v_spent - v_to.restored])
  where public_token = p_to_token and kind = 'pin';
  if p_is_retired_now then
    update try_counter
    set spent = restored + try_limit,
      epoch = epoch + 1,
      is_withdrawn = true,
      block_reported = true
    where public_token = p_from_token and kind = 'pin';
  end if;
end
$function$;
