-- Locks a client's feed until the transaction ends. Other transactions publish no events of the
-- client meanwhile.
--
-- Distributed by p_client_id, beside feed_head.
create or replace function lock_feed_head(p_client_id text) returns void
language plpgsql
as $function$
begin
  perform
  from feed_head
  where client_id = p_client_id
  for update;
end
$function$;
