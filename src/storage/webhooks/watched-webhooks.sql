-- Webhooks of all clients with the state of their delivery queues, for operators.

-- name: list_watched_webhooks
select webhook.client_id as "clientId", webhook.webhook_id as "webhookId", url, events, description,
  status, created_at as "createdAt", disabled_at as "disabledAt",
  disabled_reason as "disabledReason",
  coalesce(consecutive_failures, 0) as "consecutiveFailures",
  coalesce(failing, false) as failing, nullif(due_at, 'infinity') as "dueAt"
from webhook
left join delivery_queue
  on delivery_queue.client_id = webhook.client_id
  and delivery_queue.webhook_id = webhook.webhook_id
where deleted_at is null
  and (webhook.client_id, webhook.webhook_id) > (:afterClientId, :afterWebhookId::uuid)
order by webhook.client_id, webhook.webhook_id
limit :limit;

-- name: list_watched_webhooks_of_client
select webhook.client_id as "clientId", webhook.webhook_id as "webhookId", url, events, description,
  status, created_at as "createdAt", disabled_at as "disabledAt",
  disabled_reason as "disabledReason",
  coalesce(consecutive_failures, 0) as "consecutiveFailures",
  coalesce(failing, false) as failing, nullif(due_at, 'infinity') as "dueAt"
from webhook
left join delivery_queue
  on delivery_queue.client_id = webhook.client_id
  and delivery_queue.webhook_id = webhook.webhook_id
where deleted_at is null and webhook.client_id = :clientId
  and webhook.webhook_id > :afterWebhookId::uuid
order by webhook.webhook_id
limit :limit;

-- name: find_watched_webhook
select webhook.client_id as "clientId", webhook.webhook_id as "webhookId", url, events, description,
  status, created_at as "createdAt", disabled_at as "disabledAt",
  disabled_reason as "disabledReason",
  coalesce(consecutive_failures, 0) as "consecutiveFailures",
  coalesce(failing, false) as failing, nullif(due_at, 'infinity') as "dueAt"
from webhook
left join delivery_queue
  on delivery_queue.client_id = webhook.client_id
  and delivery_queue.webhook_id = webhook.webhook_id
where webhook.client_id = :clientId and webhook.webhook_id = :webhookId and deleted_at is null;

-- A webhook has failed for long after 20 consecutive failures, however short the time, and after
-- 10 minutes of failures, however few they are.
-- name: list_failing_webhooks
select webhook.client_id as "clientId", webhook.webhook_id as "webhookId",
  consecutive_failures as "consecutiveFailures",
  coalesce(
    consecutive_failures >= 20 or failing_since <= now() - interval '600 seconds', false
  ) as "isLong"
from delivery_queue
join webhook
  on webhook.client_id = delivery_queue.client_id
  and webhook.webhook_id = delivery_queue.webhook_id
where failing and status = 'Enabled' and deleted_at is null
order by "isLong" desc, consecutive_failures desc, webhook.client_id, webhook.webhook_id
limit :limit;

-- Counts what has become of the events of the last day, in the newest :limit deliveries of
-- each webhook, and finds the newest one that failed. Its attempts are read for that one alone.
-- name: measure_webhooks
select asked.webhook_id as "webhookId", counted.delivered, counted.retrying, counted.waiting,
  counted.failed, delivery.position::text as "failedPosition", delivery.type as "failedType",
  delivery.tries -> -1 as "failedTry"
from unnest(:webhookIds::uuid[]) as asked (webhook_id)
cross join lateral (
  select count(*) filter (where status = 'Delivered')::integer as delivered,
    count(*) filter (where status = 'Pending' and failures > 0)::integer as retrying,
    count(*) filter (where status = 'Pending' and failures = 0)::integer as waiting,
    count(*) filter (where status = 'Failed')::integer as failed,
    max(position) filter (
      where status = 'Failed' or status = 'Pending' and failures > 0
    ) as last_failed
  from (
    select position, status, failures, created_at
    from delivery
    where delivery.client_id = :clientId and delivery.webhook_id = asked.webhook_id
    order by position desc
    limit :limit
  ) as newest
  where created_at >= now() - interval '1 day'
) as counted
left join lateral (
  select position, type, tries
  from delivery
  where delivery.client_id = :clientId and delivery.webhook_id = asked.webhook_id
    and delivery.position = counted.last_failed
  limit 1
) as delivery on true;
