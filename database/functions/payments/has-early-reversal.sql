-- Whether a reversal of a transaction came before its authorization, and is still remembered at
-- p_now.
--
-- It is volatile, so that a statement that calls it after it has locked the card sees a reversal
-- that was committed after the statement began.
create or replace function has_early_reversal(
  p_public_token text,
  p_network_id text,
  p_network_transaction_id text,
  p_now timestamptz
) returns boolean
language plpgsql
as $function$
begin
  return exists (
    select
    from payment_message as message
    where message.public_token = p_public_token and message.network_id = p_network_id
      and message.network_transaction_id = p_network_transaction_id
      and message.effect = 'remember'
      and message.remembered_until > p_now
  );
end
$function$;
