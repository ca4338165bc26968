-- Secrets that sign a webhook's deliveries. A replaced secret signs for another 24 hours.

-- name: lock_webhook_secret
select webhook_id as "webhookId"
from webhook
where client_id = :clientId and webhook_id = :webhookId and deleted_at is null
for update;

-- name: wait_for_former_secret
select greatest(1, ceil(extract(epoch from signs_until - now())))::integer as "seconds"
from webhook_former_secret
where client_id = :clientId and webhook_id = :webhookId and signs_until > now()
order by signs_until desc
offset :offset
limit 1;

-- name: keep_former_secret
insert into webhook_former_secret (client_id, webhook_id, secret, signs_until)
select client_id, webhook_id, secret, now() + interval '24 hours'
from webhook
where client_id = :clientId and webhook_id = :webhookId;

-- name: replace_webhook_secret
with replaced as (
  update webhook
  set secret = :secret
  where client_id = :clientId and webhook_id = :webhookId
  returning webhook_id
)
update delivery_queue
set arrivals = arrivals + 1, due_at = now()
where client_id = :clientId and webhook_id in (select webhook_id from replaced);

-- name: prune_former_secrets
delete from webhook_former_secret
where signs_until <= now();
