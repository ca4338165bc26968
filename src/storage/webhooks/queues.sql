-- Delivery queues: one for each endpoint. A process holds a queue for a while and drains it. A
-- queue is failing after 5 consecutive failures (failingThreshold).

-- name: list_due_delivery_queues
select client_id as "clientId", webhook_id as "webhookId"
from delivery_queue
where failing = :failing and due_at <= now() and leased_until <= now()
  and exists (
    select 1 from client where client.client_id = delivery_queue.client_id and receives_events
  )
order by due_at
limit :limit;

-- name: claim_delivery_queue
update delivery_queue
set holder = :holder, leased_until = now() + make_interval(secs => :seconds)
where client_id = :clientId and webhook_id = :webhookId and due_at <= now()
  and leased_until <= now()
returning client_id as "clientId", webhook_id as "webhookId",
  consecutive_failures as "consecutiveFailures";

-- The arrivals are read at the same moment as the webhook. The values that the update returns may
-- be later: it waits for a change of the webhook, whose columns are read as they were before the
-- change. A process would then release the queue without having seen the change.
-- name: renew_delivery_queue
with renewed as (
  update delivery_queue
  set leased_until = now() + make_interval(secs => :seconds)
  where client_id = :clientId and webhook_id = :webhookId and holder = :holder
  returning webhook_id
)
select arrivals::text as "arrivals", rests_until > now() as "isResting", url,
  url_since as "urlSince", status,
  coalesce(deliveries_suspended_seconds, 0) as "suspendedSeconds",
  coalesce(receives_events, false) as "receivesEvents", deleted_at is not null as "isDeleted",
  replay_after is not null as "isReplaying", secret,
  array(
    select encode(former.secret, 'hex')
    from webhook_former_secret former
    where former.client_id = :clientId and former.webhook_id = :webhookId and signs_until > now()
    order by signs_until desc
  ) as "formerSecrets"
from renewed
cross join webhook
join delivery_queue
  on delivery_queue.client_id = :clientId and delivery_queue.webhook_id = :webhookId
left join client on client.client_id = :clientId
where webhook.client_id = :clientId and webhook.webhook_id = :webhookId;

-- A cluster does not allow clock functions within a case of a change, so `clock` reads it.
-- name: release_delivery_queue
with clock as materialized (select now() as at)
update delivery_queue
set holder = null, leased_until = '-infinity', consecutive_failures = :consecutiveFailures,
  failing = :consecutiveFailures >= 5,
  failing_since = case
    when :consecutiveFailures >= 5 then coalesce(failing_since, clock.at)
  end,
  due_at = greatest(rests_until, coalesce((
      select min(due_at)
      from delivery_group
      where client_id = :clientId and webhook_id = :webhookId and pending > 0
    ), 'infinity'))
from clock
where client_id = :clientId and webhook_id = :webhookId and holder = :holder
  and arrivals = :arrivals::bigint
returning webhook_id as "webhookId";

-- name: abandon_delivery_queue
with clock as materialized (select now() as at)
update delivery_queue
set holder = null, leased_until = '-infinity', due_at = clock.at,
  consecutive_failures = :consecutiveFailures, failing = :consecutiveFailures >= 5,
  failing_since = case
    when :consecutiveFailures >= 5 then coalesce(failing_since, clock.at)
  end
from clock
where client_id = :clientId and webhook_id = :webhookId and holder = :holder;

-- The answer of a former address does not pause the endpoint. A cluster cannot compute a time from
-- the columns of a change: `rest` computes it, and an instant to the millisecond is a range.
-- name: rest_delivery_queue
with rest as materialized (select now() + make_interval(secs => :seconds) as until)
update delivery_queue
set rests_until = greatest(rests_until, rest.until)
from rest
where client_id = :clientId and webhook_id = :webhookId
  and exists (
    select 1
    from webhook
    where webhook.client_id = :clientId and webhook.webhook_id = :webhookId
      and url_since >= :urlSince::timestamptz
      and url_since < :urlSince::timestamptz + interval '1 ms'
  );

-- name: mark_delivery_queue_due
update delivery_queue
set arrivals = arrivals + 1, due_at = now()
where client_id = :clientId and webhook_id = :webhookId;
