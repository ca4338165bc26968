-- Finds the card of the line whose payment a message names. A message may carry the number of the
-- successor, while the payment belongs to the card that it replaced. Of several payments with one
-- network transaction id, one that is open or partly cleared comes first, then that of the newest
-- card.
--
-- Returns the card that the message names if the payment is its own, or no card has it. Locks
-- nothing: a payment stays with its card.
create or replace function find_card_of_payment(
  p_public_token text,
  p_network_id text,
  p_payment_id uuid,
  p_network_transaction_id text
) returns text
language plpgsql
as $function$
declare
  v_line_token text;
  v_generation integer;
  v_line text[];
  v_public_token text;
  v_is_open boolean;
  v_found_token text;
begin
  select line_token, generation into v_line_token, v_generation
  from card
  where public_token = p_public_token;
  if coalesce(v_generation, 0) = 0
    or p_payment_id is null and p_network_transaction_id is null
  then
    return p_public_token;
  end if;
  v_line := array(
    select successor_token
    from card_line
    where public_token = v_line_token and generation <= v_generation
    order by generation desc
  ) || v_line_token;
  foreach v_public_token in array v_line loop
    if p_payment_id is not null then
      select true into v_is_open
      from payment
      where public_token = v_public_token and payment_id = p_payment_id
        and network_id = p_network_id;
    else
      -- Not derive_payment_state: on a cluster, each shard has a row type of its own.
      select not (is_final or is_expired or (cleared = 0 and approved = reversed)) into v_is_open
      from payment
      where public_token = v_public_token and network_transaction_id = p_network_transaction_id
        and network_id = p_network_id
      order by 1 desc
      limit 1;
    end if;
    if v_is_open then
      return v_public_token;
    end if;
    if v_is_open is not null then
      v_found_token := coalesce(v_found_token, v_public_token);
    end if;
  end loop;
  return coalesce(v_found_token, p_public_token);
end
$function$;
