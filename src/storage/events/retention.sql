-- What is deleted of the outbox, of the feeds and of the event streams, some rows at a time.

-- The list is materialized and joined row by row, so that no plan reads more than its rows.
-- name: prune_outbox
with old as materialized (
  select occurred_at, public_token, sequence
  from event_default
  where published and occurred_at < (select now() - make_interval(days => :days))
  order by occurred_at
  limit :limit
)
delete from event_default
using old
where event_default.occurred_at = any(array[old.occurred_at])
  and event_default.public_token between old.public_token and old.public_token
  and event_default.sequence between old.sequence and old.sequence
  and now() - event_default.occurred_at > make_interval(days => :days)
returning event_default.sequence;

-- name: list_feeds
select client_id as "clientId"
from feed_head
where client_id > :after
order by client_id
limit :limit;

-- An event after the position up to which the feed is entered in the audit log is kept, however
-- old it is. So is one with a pending delivery.
-- name: prune_feed
with looked as materialized (
  select position, published_at, occurred_at
  from published_event
  where client_id = :clientId and position > :after::bigint
    and position <= coalesce((select position from audit_feed where client_id = :clientId), 0)
  order by position
  limit :limit
), step as materialized (
  select position
  from looked
  where published_at < now() - make_interval(days => :days)
    and occurred_at < to_timestamp(:beforeDay::float8 * 86400)
), queued as materialized (
  select position, status
  from delivery
  where client_id = :clientId
    and webhook_id = any(array(select webhook_id from webhook where client_id = :clientId))
    and position = any(array(select position from step))
), gone as (
  delete from published_event
  where client_id = :clientId and position > :after::bigint
    and position <= (select max(position) from step)
    and now() - published_at > make_interval(days => :days)
    and occurred_at < to_timestamp(:beforeDay::float8 * 86400)
    and position <> all(array(select position from queued where status = 'Pending'))
)
select max(position)::text as "position"
from step;

-- name: prune_event_streams
delete from event_stream
where leased_until < now() - interval '1 hour';
