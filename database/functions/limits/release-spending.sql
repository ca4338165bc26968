-- Gives back what an authorization took from the windows of its limits, when its money does not
-- move: all of it if p_amount is null, and never more than it took.
--
-- Exactly its own windows get it back: one that a newer window has replaced gets nothing. The count
-- comes back when nothing of the amount is left. A card stays locked to its merchant.
--
-- The caller has locked the card. Lock order: card, authorization, spending.
--
-- Returns the amount that was given back; null if the authorization has nothing to give back.
create or replace function release_spending(
  p_public_token text,
  p_authorization_id uuid,
  p_amount bigint
) returns bigint
language plpgsql
as $function$
declare
  v_taken jsonb;
  v_windows jsonb;
  v_amount bigint;
  v_count integer;
  v_left bigint;
  v_name text;
  v_starts_on text;
begin
  select spending into v_taken
  from authorization_request
  where public_token = p_public_token and authorization_id = p_authorization_id
  for no key update;
  if v_taken is null then
    return null;
  end if;
  v_amount := least(p_amount, (v_taken ->> 'amount')::bigint);
  v_left := (v_taken ->> 'amount')::bigint - v_amount;
  v_count := case when v_left = 0 then (v_taken ->> 'count')::integer else 0 end;
  select windows into v_windows
  from card_spending
  where public_token = p_public_token
  for no key update;
  for v_name, v_starts_on in select * from jsonb_each_text(v_taken -> 'windows') loop
    continue when v_windows -> v_name ->> 'startsOn' is distinct from v_starts_on;
    v_windows := v_windows || jsonb_build_object(
      v_name,
      jsonb_build_object(
        'startsOn', v_starts_on,
        'amount', (v_windows -> v_name ->> 'amount')::bigint - v_amount,
        'count', (v_windows -> v_name ->> 'count')::integer - v_count
      )
    );
  end loop;
  update card_spending
  set windows = v_windows
  where public_token = p_public_token;
  update authorization_request
  set spending = case
    when v_left > 0 then v_taken || jsonb_build_object('amount', v_left)
  end
  where public_token = p_public_token and authorization_id = p_authorization_id;
  return v_amount;
end
$function$;
