-- Acts that are not yet in the audit log. All rows of a list are one value, which costs a driver a
-- fraction of as many rows. Times are texts to the microsecond, which a JavaScript date would lose.

-- name: list_feeds_to_enter
select feed_head.client_id as "clientId", coalesce(position, 0)::text as "entered",
  last_position::text as "last"
from feed_head
left join audit_feed on audit_feed.client_id = feed_head.client_id
where last_position > coalesce(position, 0) and feed_head.client_id > :after
order by feed_head.client_id
limit :limit;

-- name: list_events_to_enter
select coalesce(json_agg(listed), '[]') as "rows"
from (
  select event.*
  from unnest(:clientIds::text[], :entered::bigint[])
    with ordinality as feed (client_id, entered, ordinal)
  cross join lateral (
    select position::text as "position", event_id as "eventId", client_id as "clientId",
      public_token as "publicToken", sequence, type,
      to_char(occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at",
      details, request_id as "requestId", operator_id as "operatorId"
    from published_event
    where (client_id, position) > (feed.client_id, feed.entered) and client_id <= feed.client_id
    order by published_event.client_id, published_event.position
    limit :limit
  ) as event
  order by feed.ordinal, event.position::bigint
) as listed;

-- A cluster cannot join the rows of many clients to a list of them.
-- name: list_events_to_enter_of_one
select coalesce(json_agg(listed), '[]') as "rows"
from (
  select position::text as "position", event_id as "eventId", client_id as "clientId",
    public_token as "publicToken", sequence, type,
    to_char(occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at",
    details, request_id as "requestId", operator_id as "operatorId"
  from published_event
  where (client_id, position) > (:clientId, :entered::bigint) and client_id <= :clientId
  order by published_event.client_id, published_event.position
  limit :limit
) as listed;

-- name: set_feeds_entered
select set_feeds_entered(p_client_ids => :clientIds, p_positions => :positions);

-- name: take_attempts_to_enter
select take_attempts(p_limit => :limit) as "rows";

-- name: list_acts_to_enter
select coalesce(json_agg(listed), '[]') as "rows"
from (
  select number, act_id as "actId",
    to_char(acted_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at", act,
    subject_kind as "subjectKind", subject, details, client_id as "clientId",
    request_id as "requestId"
  from audit_act
  where number > (select position from audit_entered where source = 'acts')
  order by number
  limit :limit
) as listed;

-- name: set_acts_entered
select set_acts_entered(p_number => :number);

-- name: take_refusals_to_enter
select take_refused_disclosures(p_limit => :limit) as "rows";

-- name: has_feeds_to_enter
select 1 as one
from feed_head
left join audit_feed on audit_feed.client_id = feed_head.client_id
where last_position > coalesce(position, 0)
limit 1;

-- name: has_attempts_to_enter
select 1 as one
from authorization_request
where to_enter
order by authorization_id
limit 1;

-- name: has_acts_to_enter
select 1 as one
from audit_act
where number > (select position from audit_entered where source = 'acts')
limit 1;

-- name: has_refusals_to_enter
select 1 as one
from refused_disclosure
where minute < (select date_trunc('minute', clock_timestamp(), 'UTC'))
limit 1;
