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

-- A webhook counts as failing after 20 consecutive failures, however short the time, and after 10
-- minutes of failures, however few they are.
-- name: list_failing_webhooks
select webhook.client_id as "clientId", webhook.webhook_id as "webhookId",
  consecutive_failures as "consecutiveFailures"
from delivery_queue
join webhook
  on webhook.client_id = delivery_queue.client_id
  and webhook.webhook_id = delivery_queue.webhook_id
where failing
  and (consecutive_failures >= 20 or failing_since <= now() - interval '600 seconds')
  and status = 'Enabled' and deleted_at is null
order by consecutive_failures desc, webhook.client_id, webhook.webhook_id
limit :limit;
