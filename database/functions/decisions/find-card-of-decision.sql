-- Finds the card whose payment the conclusion of a decision changes: that of the payment that an
-- increment would raise (find_card_of_payment), otherwise the card of the decision. Locks nothing.
create or replace function find_card_of_decision(
  p_public_token text,
  p_decision_id uuid
) returns text
language plpgsql
as $function$
declare
  v_authorization_id uuid;
  v_increment jsonb;
  v_request authorization_request;
begin
  select authorization_id, pending::jsonb -> 'increment' into v_authorization_id, v_increment
  from decision
  where public_token = p_public_token and decision_id = p_decision_id;
  if v_increment is null or jsonb_typeof(v_increment) <> 'object' then
    return p_public_token;
  end if;
  select * into v_request
  from authorization_request
  where public_token = p_public_token and authorization_id = v_authorization_id;
  return find_card_of_payment(
    p_public_token, v_request.network_id, (v_increment ->> 'paymentId')::uuid,
    v_request.network_transaction_id
  );
end
$function$;
