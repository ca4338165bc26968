-- Webhooks: the endpoints for a client's events. A change of a webhook marks its delivery queue, so
-- that the process that drains the queue reads the webhook again.

-- `url_since` is on the clock that stops while the client's deliveries are suspended.
-- name: insert_webhook
with queue as (
  insert into delivery_queue (client_id, webhook_id)
  values (:clientId, :webhookId)
)
insert into webhook
  (client_id, webhook_id, url, events, description, status, secret, disabled_at,
    disabled_reason, url_since)
select :clientId, :webhookId::uuid, :url, :events::text[], :description::bytea, :status,
  :secret::bytea, case when :status = 'Disabled' then now() end,
  case when :status = 'Disabled' then 'client' end,
  coalesce((
    select
      case
        when receives_events then now()
        else coalesce(deliveries_suspended_at, now())
      end - make_interval(secs => deliveries_suspended_seconds)
    from client
    where client.client_id = :clientId
  ), now())
returning webhook_id as "webhookId", url, events, description, status,
  created_at as "createdAt", disabled_at as "disabledAt",
  disabled_reason as "disabledReason";

-- name: lock_client_for_webhooks
select client_id as "clientId"
from client
where client_id = :clientId
for no key update;

-- name: count_webhooks
select count(*)::integer as count
from webhook
where client_id = :clientId and deleted_at is null;

-- name: list_webhooks
select webhook_id as "webhookId", url, events, description, status, created_at as "createdAt",
  disabled_at as "disabledAt",
  disabled_reason as "disabledReason"
from webhook
where client_id = :clientId and deleted_at is null
  and (:afterWebhookId::uuid is null or webhook_id > :afterWebhookId)
order by webhook_id
limit :limit;

-- name: find_webhook
select webhook_id as "webhookId", url, events, description, status, created_at as "createdAt",
  disabled_at as "disabledAt",
  disabled_reason as "disabledReason"
from webhook
where client_id = :clientId and webhook_id = :webhookId and deleted_at is null;

-- name: update_webhook
with marked as (
  update delivery_queue
  set arrivals = arrivals + 1, due_at = now(), rests_until = '-infinity'
  where client_id = :clientId and webhook_id = :webhookId
), clock as materialized (
  select now() as at,
    coalesce((
      select
        case
          when receives_events then now()
          else coalesce(deliveries_suspended_at, now())
        end - make_interval(secs => deliveries_suspended_seconds)
      from client
      where client.client_id = :clientId
    ), now()) as of_deliveries
)
update webhook
set url = :url, events = :events, description = :description, status = :status,
  url_since = case
    when url = :url and (status = 'Enabled' or :status = 'Disabled') then url_since
    else clock.of_deliveries
  end,
  replay_after = case when :status = 'Enabled' then replay_after end,
  disabled_at = case when :status = 'Disabled' then coalesce(disabled_at, clock.at) end,
  disabled_reason = case
    when :status = 'Enabled' then null
    when status = 'Enabled' then 'client'
    else disabled_reason
  end
from clock
where client_id = :clientId and webhook_id = :webhookId and deleted_at is null
returning webhook_id as "webhookId", url, events, description, status,
  created_at as "createdAt", disabled_at as "disabledAt",
  disabled_reason as "disabledReason";

-- name: lock_webhook_target
with asked as (
  select status, url_since
  from webhook
  where client_id = :clientId and webhook_id = :webhookId
  for update
), marked as (
  update delivery_queue
  set arrivals = arrivals + 1
  where client_id = :clientId and webhook_id = :webhookId and exists (select 1 from asked)
)
select status, url_since as "urlSince"
from asked;

-- name: disable_webhook
with marked as (
  update delivery_queue
  set arrivals = arrivals + 1, due_at = now()
  where client_id = :clientId and webhook_id = :webhookId
), clock as materialized (
  select now() as at,
    coalesce((
      select
        case
          when receives_events then now()
          else coalesce(deliveries_suspended_at, now())
        end - make_interval(secs => deliveries_suspended_seconds)
      from client
      where client.client_id = :clientId
    ), now()) as of_deliveries
)
update webhook
set status = 'Disabled', disabled_at = now(), disabled_reason = :reason, replay_after = null
from clock
where client_id = :clientId and webhook_id = :webhookId and deleted_at is null
returning webhook_id as "webhookId", url, events, description, status,
  created_at as "createdAt", disabled_at as "disabledAt",
  disabled_reason as "disabledReason";

-- name: delete_webhook
with marked as (
  update delivery_queue
  set arrivals = arrivals + 1, due_at = now()
  where client_id = :clientId and webhook_id = :webhookId
), clock as materialized (
  select now() as at,
    coalesce((
      select
        case
          when receives_events then now()
          else coalesce(deliveries_suspended_at, now())
        end - make_interval(secs => deliveries_suspended_seconds)
      from client
      where client.client_id = :clientId
    ), now()) as of_deliveries
)
update webhook
set status = 'Disabled', deleted_at = now()
from clock
where client_id = :clientId and webhook_id = :webhookId and deleted_at is null
returning webhook_id as "webhookId", url, events, description, status,
  created_at as "createdAt", disabled_at as "disabledAt",
  disabled_reason as "disabledReason";

-- A running replay that includes the requested time is not begun again: a client that repeats its
-- request often would otherwise never see the end. Positions follow the times, except for
-- concurrent acts, none of which lasts minutes. So the first position is among those of the first
-- ten minutes, and no more are read.
-- name: replay_webhook
with earliest as (
  select min(occurred_at) as occurred_at
  from published_event
  where client_id = :clientId and occurred_at >= :since::timestamptz
), began as materialized (
  select position
  from published_event
  where client_id = :clientId and occurred_at >= (select occurred_at from earliest)
    and occurred_at <= (select occurred_at from earliest) + interval '10 minutes'
), first as (
  select min(position) - 1 as position
  from began
), asked as (
  update webhook
  set replay_after = case
      when replay_after is null or first.position < replay_from then first.position
      else replay_after
    end,
    replay_from = case
      when replay_after is null or first.position < replay_from then first.position
      else replay_from
    end
  from first
  where client_id = :clientId and webhook_id = :webhookId and deleted_at is null
  returning webhook_id
), marked as (
  update delivery_queue
  set arrivals = arrivals + 1, due_at = now(), rests_until = '-infinity'
  where client_id = :clientId and webhook_id = (select webhook_id from asked)
)
select webhook_id as "webhookId"
from asked;
