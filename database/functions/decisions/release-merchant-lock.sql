-- Releases a card from the merchant that a declined authorization locked it to. The lock stays, and
-- belongs to another authorization, if one at that merchant waits for a decision; it stays for good
-- if one was approved meanwhile. The caller has locked the card.
--
-- It looks at the newest 100 requests of the card: no index has the merchant.
create or replace function release_merchant_lock(
  p_public_token text,
  p_authorization_id uuid,
  p_merchant_id text,
  p_since timestamptz
) returns void
language plpgsql
as $function$
declare
  v_line_token text;
  v_authorization_id uuid;
  v_is_approved boolean;
begin
  select request.authorization_id, request.response_code is not null
  into v_authorization_id, v_is_approved
  from (
    select authorization_id, merchant, response_code, spending, requested_at, decided_at
    from authorization_request
    where public_token = any (array[p_public_token]) and public_token >= p_public_token
      and (public_token, authorization_id)
        <= (p_public_token, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
    order by public_token desc, authorization_id desc
    limit 100
  ) as request
  where request.authorization_id <> p_authorization_id
    and request.merchant ->> 'id' = p_merchant_id
    and (
      request.response_code in ('00', '10') and request.decided_at >= p_since
      or request.response_code is null and request.spending is not null
    )
  order by request.response_code is null
  limit 1;
  if v_authorization_id is null then
    select line_token into v_line_token
    from card
    where public_token = p_public_token;
    update card_spending
    set locked_merchant = null
    where public_token = v_line_token and locked_merchant = p_merchant_id;
  elsif not v_is_approved then
    update authorization_request
    set spending = spending || jsonb_build_object('lock', p_merchant_id)
    where public_token = p_public_token and authorization_id = v_authorization_id;
  end if;
end
$function$;
