-- Records a trial, before its client is asked: a decision of the purpose 'shadow' or 'replay',
-- which decides nothing. Its answer may also come by a call, and any process may send the request.
--
-- Returns its number among the decisions of the card; null without such a card.
--
-- Distributed by p_public_token, beside card.
create or replace function begin_decision_trial(
  p_public_token text,
  p_decision_id uuid,
  p_authorization_id uuid,
  p_purpose text,
  p_endpoint_product_id integer,
  p_endpoint_version integer,
  p_facts text,
  p_held_amount bigint,
  p_held_currency_code text,
  p_deadline timestamptz
) returns integer
language plpgsql
as $function$
declare
  v_card card := lock_card(p_public_token);
  v_sequence integer;
begin
  if v_card.public_token is null then
    return null;
  end if;
  v_sequence := next_decision_sequence(p_public_token);
  insert into decision (
    public_token, decision_id, client_id, authorization_id, sequence, purpose,
    endpoint_product_id, endpoint_version, facts, held_amount, held_currency_code, deadline
  )
  values (
    p_public_token, p_decision_id, v_card.client_id, p_authorization_id, v_sequence,
    p_purpose, p_endpoint_product_id, p_endpoint_version, p_facts, p_held_amount,
    p_held_currency_code, p_deadline
  );
  return v_sequence;
end
$function$;
