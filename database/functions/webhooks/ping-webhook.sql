-- Queues a ping for a webhook: a delivery at the next position of the client's feed.
--
-- Lock order: head, queue, group, as everywhere.
--
-- Returns whether the webhook exists.
--
-- Distributed by p_client_id, beside feed_head.
create or replace function ping_webhook(
  p_client_id text,
  p_webhook_id uuid,
  p_event_id uuid,
  p_group_key text
) returns boolean
language plpgsql
as $function$
begin
  with head as (
    insert into feed_head (client_id, last_position)
    select client_id, 1
    from webhook
    where client_id = p_client_id and webhook_id = p_webhook_id and deleted_at is null
    on conflict (client_id) do update
    set last_position = feed_head.last_position + 1
    returning last_position
  ), marked as (
    update delivery_queue
    set arrivals = arrivals + 1, due_at = now(), rests_until = '-infinity'
    where client_id = p_client_id and webhook_id = p_webhook_id and exists (select from head)
    returning arrivals
  ), groups as (
    insert into delivery_group (client_id, webhook_id, group_key, pending, due_at)
    select p_client_id, p_webhook_id, p_group_key, 1, now()
    from head
    where (select count(*) from marked) >= 0
    on conflict (client_id, webhook_id, group_key) do update
    set pending = delivery_group.pending + 1,
      due_at = least(delivery_group.due_at, excluded.due_at)
  )
  insert into delivery (client_id, webhook_id, position, event_id, type, group_key)
  select p_client_id, p_webhook_id, last_position, p_event_id, 'webhook.ping', p_group_key
  from head;
  return found;
end
$function$;
