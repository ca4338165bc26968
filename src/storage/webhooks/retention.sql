-- Deletion of webhooks and deliveries, some rows at a time.

-- name: list_all_webhooks
select webhook_id as "webhookId",
  coalesce(deleted_at < now() - interval '1 minute', false) as "isDeleted"
from webhook
where client_id = :clientId;

-- The list is materialized, and the condition on the status is repeated in a form that no index
-- serves, so that no plan reads more than the rows of the list.
-- name: prune_deliveries
with old as materialized (
  select position
  from delivery
  where client_id = :clientId and webhook_id = :webhookId and status <> 'Pending'
    and created_at < (select now() - make_interval(days => :days))
  order by created_at
  limit :limit
)
delete from delivery
where client_id = :clientId and webhook_id = :webhookId
  and position = any(array(select position from old))
  and status || '' <> 'Pending'
returning position;

-- name: remove_deliveries
delete from delivery
where client_id = :clientId and webhook_id = :webhookId and position = any(array(
  select position
  from delivery
  where client_id = :clientId and webhook_id = :webhookId
  order by position
  limit :limit
))
returning position;

-- name: remove_webhook
with groups as (
  delete from delivery_group
  where client_id = :clientId and webhook_id = :webhookId
), queue as (
  delete from delivery_queue
  where client_id = :clientId and webhook_id = :webhookId
), secrets as (
  delete from webhook_former_secret
  where client_id = :clientId and webhook_id = :webhookId
)
delete from webhook
where client_id = :clientId and webhook_id = :webhookId and deleted_at is not null;
