-- Publishes events of one client: assigns them the positions after the last one, in this order, and
-- queues them for the subscribed webhooks.
--
-- The row of feed_head is locked until the transaction ends: other processes that publish events of
-- this client wait, and positions become visible in their order. An event that is already published
-- is skipped. The rows of the queues are locked after the head, then the rows of the groups, as
-- everywhere, so that no two transactions wait for each other.
--
-- p_events is a list of objects, each with its ordinal from 1 to p_count.
--
-- Distributed by p_client_id, beside feed_head.
create or replace function publish_events(
  p_client_id text,
  p_events jsonb,
  p_count bigint
) returns void
language plpgsql
as $function$
begin
  with given as (
    select *
    from jsonb_to_recordset(p_events) as given (
      "publicToken" text, sequence integer, "eventId" uuid, type text, "occurredAt" timestamptz,
      details text, "requestId" text, "operatorId" text, ordinal integer
    )
  ), head as (
    insert into feed_head (client_id, last_position)
    values (p_client_id, p_count)
    on conflict (client_id) do update
    set last_position = feed_head.last_position + excluded.last_position
    returning last_position - p_count as base
  ), published as (
    insert into published_event (
      client_id, position, event_id, public_token, sequence, type, occurred_at, details,
      request_id, operator_id
    )
    select p_client_id, base + ordinal, "eventId", "publicToken", sequence, type, "occurredAt",
      details, "requestId", "operatorId"
    from given
    cross join head
    on conflict (event_id, client_id, occurred_at) do nothing
    returning position, event_id, public_token, type
  ), target as (
    select webhook_id, position, event_id, public_token, published.type
    from published
    join webhook
      on client_id = p_client_id and webhook.events && array['*', published.type]
    where status = 'Enabled' and deleted_at is null
  ), delivering as (
    insert into delivery (client_id, webhook_id, position, event_id, type, group_key)
    select p_client_id, webhook_id, position, event_id, type, public_token
    from target
  ), marked as (
    update delivery_queue
    set arrivals = arrivals + 1, due_at = least(due_at, now())
    where client_id = p_client_id and webhook_id in (select webhook_id from target)
    returning arrivals
  )
  insert into delivery_group (client_id, webhook_id, group_key, pending, due_at)
  select p_client_id, webhook_id, public_token, count(*), now()
  from target
  where (select count(*) from marked) >= 0
  group by webhook_id, public_token
  order by webhook_id, public_token
  on conflict (client_id, webhook_id, group_key) do update
  set pending = delivery_group.pending + excluded.pending,
    due_at = case
      when delivery_group.pending = 0 then excluded.due_at
      else delivery_group.due_at
    end;
end
$function$;
