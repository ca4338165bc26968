-- What is to be entered in the audit log. All rows of a list are one value: that costs a driver a
-- fraction of what so many rows do. Times are texts to the microsecond, which a JavaScript date
-- would lose.

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

-- A cluster finds no rows of many clients beside a list of them.
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

-- Whether a result is there is a value of its own, which is looked up try by try whatever the
-- planner takes the tables for. A cluster takes neither an aggregate in it nor a limit in a
-- lateral subquery. A try without a result for 35 seconds was lost with its process. The list is
-- materialized and joined row by row, so that no plan reads more than its rows.
-- name: take_attempts_to_enter
with waiting as materialized (
  select public_token, kind, try_number
  from attempt_to_enter
  where (
    select result <> 'unresolved'
      or attempted_at < clock_timestamp() - interval '35 seconds'
    from attempt
    where attempt.public_token = attempt_to_enter.public_token
      and attempt.kind = attempt_to_enter.kind
      and attempt.try_number = attempt_to_enter.try_number
  )
  limit :limit
), taken as (
  delete from attempt_to_enter
  using waiting
  where attempt_to_enter.public_token = any(array[waiting.public_token])
    and attempt_to_enter.kind between waiting.kind and waiting.kind
    and attempt_to_enter.try_number between waiting.try_number and waiting.try_number
  returning attempt_to_enter.*
)
select coalesce(json_agg(listed), '[]') as "rows"
from (
  select taken.public_token as "publicToken", taken.kind, taken.try_number as "tryNumber",
    network_id as "networkId", request_id as "requestId",
    to_char(attempted_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at", result,
    remaining_tries as "remainingTries", entry_mode as "entryMode", reference
  from taken
  join attempt on attempt.public_token = any(array[taken.public_token])
    and attempt.kind between taken.kind and taken.kind
    and attempt.try_number between taken.try_number and taken.try_number
  order by attempted_at, taken.public_token, taken.kind, taken.try_number
) as listed;

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
from attempt_to_enter
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
