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

-- The tries of an answered authorization are in the entry of its event. The others are entered when
-- they can no longer be answered.
-- name: find_span_of_tries_to_enter
select coalesce((select position from audit_entered where source = 'tries'), 0)::text as "after",
  ((extract(epoch from clock_timestamp()) - 35) * 1000000)::bigint::text as "until";

-- Reads the requests of a span, the earliest first, and lists those that spent a try and have no
-- answer. If the limit ends the span earlier, the last instant is read again as a whole.
-- name: list_unanswered_tries
with scanned as materialized (
  select *
  from authorization_request
  where requested_at > timestamptz 'epoch' + :after::bigint * interval '1 microsecond'
    and requested_at <= timestamptz 'epoch' + :until::bigint * interval '1 microsecond'
  order by requested_at
  limit :limit
), reached as materialized (
  select case
      when count(*) < :limit then :until::bigint
      else (extract(epoch from max(requested_at)) * 1000000)::bigint - 1
    end as position
  from scanned
)
select reached.position::text as "position",
  (
    select coalesce(json_agg(listed), '[]')
    from (
      select public_token as "publicToken", kind, try_number as "tryNumber",
        network_id as "networkId", request_id as "requestId",
        to_char(requested_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at", result,
        remaining_tries as "remainingTries", entry_mode as "entryMode", reference
      from scanned
      where try_number is not null and response_code is null
        and extract(epoch from requested_at) * 1000000 <= reached.position
      order by requested_at, public_token, kind, try_number
    ) as listed
  ) as "attempts"
from reached;

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

-- name: set_source_entered
select set_source_entered(p_source => :source, p_position => :position::bigint);

-- name: take_refusals_to_enter
select take_refused_disclosures(p_limit => :limit) as "rows";

-- name: has_feeds_to_enter
select 1 as one
from feed_head
left join audit_feed on audit_feed.client_id = feed_head.client_id
where last_position > coalesce(position, 0)
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
