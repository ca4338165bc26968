-- Deletion from the outbox and the feeds, some rows at a time.

-- name: delete_old_outbox_events
select delete_old_outbox_events(p_days => :days, p_limit => :limit) as "count";

-- name: list_feeds
select client_id as "clientId"
from feed_head
where client_id > :after
order by client_id
limit :limit;

-- name: delete_old_feed_events
select delete_old_feed_events(
  p_client_id => :clientId,
  p_after => :after::bigint,
  p_days => :days,
  p_before_day => :beforeDay,
  p_limit => :limit
)::text as "position";
