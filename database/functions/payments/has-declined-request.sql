-- Whether an authorization of a network's transaction was declined in the last 24 hours, and no
-- other one of that transaction waits for its answer, so that its reversal has nothing to take back
-- and nothing to wait for.
--
-- It looks at the newest 100 requests of the card: no index has the network's id, which each
-- request would write. An unanswered request is no original yet: its reversal came first.
--
-- It is volatile, so that a statement that calls it after it has locked the card sees answers that
-- were committed after the statement began.
create or replace function has_declined_request(
  p_public_token text,
  p_network_id text,
  p_network_transaction_id text
) returns boolean
language plpgsql
as $function$
begin
  return (
    select count(*) filter (where request.response_code is null) = 0
      and count(*) filter (where request.response_code not in ('00', '10')) > 0
    from (
      select network_id, network_transaction_id, response_code, requested_at
      from authorization_request
      where public_token = any(array[p_public_token]) and public_token >= p_public_token
        and (public_token, authorization_id)
          <= (p_public_token, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
      order by public_token desc, authorization_id desc
      limit 100
    ) as request
    where request.network_transaction_id = p_network_transaction_id
      and request.network_id = p_network_id
      and request.requested_at > clock_timestamp() - interval '24 hours'
  );
end
$function$;
