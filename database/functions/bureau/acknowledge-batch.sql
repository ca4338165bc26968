-- Acknowledges a batch of the bureau's client once, at p_now: a repeat keeps the first time.
--
-- Returns whether the client has such a batch.
create or replace function acknowledge_batch(
  p_batch_id uuid,
  p_client_id text,
  p_now timestamptz
) returns boolean
language plpgsql
as $function$
begin
  update bureau_batch
  set acknowledged_at = coalesce(acknowledged_at, p_now)
  where batch_id = p_batch_id and client_id = p_client_id;
  return found;
end
$function$;
