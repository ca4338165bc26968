-- Changes what an authorization has taken from the windows of its limits: a positive p_change takes
-- more, and no limit is checked, because the network decided. A negative one gives back, but never
-- more than was taken. Null gives back everything, also the count of an authorization without an
-- amount.
--
-- Exactly its own windows change: one that a newer window has replaced stays as it is. The count
-- comes back when nothing of the amount is left, and is taken again with the next amount. A card
-- stays locked to its merchant.
--
-- The windows of the channel cashback have the cash alone: it comes back when less than the cash is
-- left of the amount.
--
-- The windows belong to the line of cards that replaced each other, and lie on its first card.
--
-- The caller has locked the card. Lock order: card, authorization, spending.
--
-- Returns by how much the amount changed; null if the authorization took nothing, and for a
-- negative change if it has nothing left.
create or replace function move_spending(
  p_public_token text,
  p_authorization_id uuid,
  p_change bigint
) returns bigint
language plpgsql
as $function$
declare
  v_line_token text;
  v_taken jsonb;
  v_windows jsonb;
  v_change bigint;
  v_count integer;
  v_left bigint;
  v_name text;
  v_starts_on text;
begin
  select spending into v_taken
  from authorization_request
  where public_token = p_public_token and authorization_id = p_authorization_id
  for no key update;
  if v_taken is null or p_change < 0 and (v_taken ->> 'amount')::bigint = 0 then
    return null;
  end if;
  -- greatest ignores null.
  v_change := greatest(p_change, - (v_taken ->> 'amount')::bigint);
  v_left := (v_taken ->> 'amount')::bigint + v_change;
  v_count := case when v_left = 0 then 0 else 1 end;
  select line_token into v_line_token
  from card
  where public_token = p_public_token;
  select windows into v_windows
  from card_spending
  where public_token = v_line_token
  for no key update;
  for v_name, v_starts_on in select * from jsonb_each_text(v_taken -> 'windows') loop
    continue when v_windows -> v_name ->> 'startsOn' is distinct from v_starts_on;
    v_windows := v_windows || jsonb_build_object(
      v_name,
      jsonb_build_object(
        'startsOn', v_starts_on,
        'amount', (v_windows -> v_name ->> 'amount')::bigint
          + case
            when v_name like '%.cashback'
            then least(v_left, (v_taken ->> 'cash')::bigint)
              - least((v_taken ->> 'amount')::bigint, (v_taken ->> 'cash')::bigint)
            else v_change
          end,
        'count', (v_windows -> v_name ->> 'count')::integer
          + v_count - (v_taken ->> 'count')::integer
      )
    );
  end loop;
  update card_spending
  set windows = v_windows
  where public_token = v_line_token;
  update authorization_request
  set spending = v_taken || jsonb_build_object('amount', v_left, 'count', v_count)
  where public_token = p_public_token and authorization_id = p_authorization_id;
  return v_change;
end
$function$;
