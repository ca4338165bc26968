-- The waiting time of the oldest act of each kind that is not yet in the audit log. The statements
-- read 1000 feeds: if more wait, these include old ones.

-- name: find_age_of_act_to_enter
select greatest(0, extract(epoch from clock_timestamp() - acted_at) * 1000)::float8 as "ageMs"
from audit_act
where number > (select position from audit_entered where source = 'acts')
order by number
limit 1;

-- name: find_age_of_refusal_to_enter
select greatest(0, extract(epoch from clock_timestamp() - first_at) * 1000)::float8 as "ageMs"
from refused_disclosure
order by minute, entry_id
limit 1;

-- name: find_age_of_event_to_publish
select greatest(0, extract(epoch from clock_timestamp() - occurred_at) * 1000)::float8 as "ageMs"
from event
where not published
order by occurred_at, public_token, sequence
limit 1;

-- Requests are read 35 seconds after their arrival, every 15 seconds.
-- name: find_age_of_try_to_enter
select greatest(0, extract(epoch from clock_timestamp() - requested_at) * 1000 - 50000)::float8
  as "ageMs"
from authorization_request
where requested_at > (
    select timestamptz 'epoch' + coalesce(max(position), 0) * interval '1 microsecond'
    from audit_entered
    where source = 'tries'
  )
order by requested_at
limit 1;

-- name: find_age_of_event_to_enter
select greatest(0, extract(epoch from clock_timestamp() - min(occurred_at)) * 1000)::float8
  as "ageMs"
from (
  select feed_head.client_id, coalesce(audit_feed.position, 0) as entered
  from feed_head
  left join audit_feed on audit_feed.client_id = feed_head.client_id
  where last_position > coalesce(audit_feed.position, 0)
  limit 1000
) as feed
cross join lateral (
  select occurred_at
  from published_event
  where published_event.client_id = feed.client_id and position > feed.entered
  order by position
  limit 1
) as next;

-- A cluster allows no limit in a lateral subquery, so its nodes read the next 2000 positions of
-- each feed. Positions may have gaps, each at most as long as a batch of publishing, which is
-- shorter.
-- name: find_age_of_event_to_enter_on_nodes
select greatest(0, extract(epoch from clock_timestamp() - min(occurred_at)) * 1000)::float8
  as "ageMs"
from feed_head
left join audit_feed on audit_feed.client_id = feed_head.client_id
join published_event on published_event.client_id = feed_head.client_id
  and published_event.position > coalesce(audit_feed.position, 0)
  and published_event.position <= coalesce(audit_feed.position, 0) + 2000
where last_position > coalesce(audit_feed.position, 0);
