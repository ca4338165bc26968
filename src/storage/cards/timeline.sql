-- The history of a card, newest first: from each source as many rows as the longest page has, and
-- one more that shows whether there is a next page (101).

-- All rows that are placed with the card, each source through its own index and in its own order.
-- There are as many notes as events on a page.
-- name: list_rows_of_card
select card.client_id as "clientId",
  (
    select coalesce(json_agg(listed), '[]')
    from (
      select to_char(attempted_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at",
        kind, try_number as "tryNumber", result, restored, remaining_tries as "remainingTries",
        entry_mode as "entryMode", reference
      from attempt
      where public_token = any(array[:publicToken])
        and (public_token, kind, try_number) < (:publicToken, 'pin', :pin::integer)
        and (public_token, kind) >= (:publicToken, 'pin')
      order by attempt.public_token desc, attempt.kind desc, attempt.try_number desc
      limit 101
    ) as listed
  ) as "pinTries",
  (
    select coalesce(json_agg(listed), '[]')
    from (
      select to_char(attempted_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at",
        kind, try_number as "tryNumber", result, restored, remaining_tries as "remainingTries",
        entry_mode as "entryMode", reference
      from attempt
      where public_token = any(array[:publicToken])
        and (public_token, kind, try_number) < (:publicToken, 'cvv', :cvv::integer)
        and (public_token, kind) >= (:publicToken, 'cvv')
      order by attempt.public_token desc, attempt.kind desc, attempt.try_number desc
      limit 101
    ) as listed
  ) as "cvvTries",
  (
    select coalesce(json_agg(listed), '[]')
    from (
      select *
      from answered_authorization
      where "publicToken" = any(array[:publicToken])
        and ("publicToken", "authorizationId") < (:publicToken, :authorizationId::uuid)
        and "publicToken" >= :publicToken
      order by "publicToken" desc, "authorizationId" desc
      limit 101
    ) as listed
  ) as "authorizations",
  (
    select coalesce(json_agg(listed), '[]')
    from (
      select sequence, event_id as "eventId", type,
        to_char(occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at",
        request_id as "requestId", operator_id as "operatorId", details
      from event
      where public_token = any(array[:publicToken]) and sequence < :sequence::integer
        and not published
      order by public_token desc, event.sequence desc
      limit 101
    ) as listed
  ) as "unpublished",
  (
    select coalesce(json_agg(listed), '[]')
    from (
      select sequence, encode(note, 'hex') as "note"
      from event
      where public_token = any(array[:publicToken]) and sequence < :sequence::integer
        and note is not null
      order by public_token desc, event.sequence desc
      limit 101
    ) as listed
  ) as "notes"
from card
where card.public_token = any(array[:publicToken])
limit 1;

-- Each endpoint separately: a client has few.
-- name: list_events_of_card
with page as materialized (
  select position, event_id, sequence, type, occurred_at, request_id, operator_id, details
  from published_event
  where (public_token, sequence) < (:publicToken, :beforeSequence::integer)
    and public_token >= :publicToken and client_id = :clientId
  order by public_token desc, published_event.sequence desc
  limit 101
)
select
  (
    select coalesce(json_agg(listed), '[]')
    from (
      select position::text as "position", sequence, event_id as "eventId", type,
        to_char(occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at",
        request_id as "requestId", operator_id as "operatorId", details
      from page
      order by page.sequence desc
    ) as listed
  ) as "events",
  (
    select coalesce(json_agg(listed), '[]')
    from (
      select webhook_id as "webhookId", position::text as "position", status,
        jsonb_array_length(tries) as "tries", tries -> -1 as "lastTry"
      from delivery
      where client_id = :clientId
        and webhook_id = any(array(select webhook_id from webhook where client_id = :clientId))
        and position = any(array(select position from page))
    ) as listed
  ) as "deliveries";

-- name: list_acts_on_card
select act_id as "actId", number::float8 as "number",
  to_char(acted_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at", act,
  client_id as "operatorId", request_id as "requestId"
from audit_act
where subject_kind = 'card' and subject = :publicToken
  and (subject, number) < (:publicToken, :beforeNumber::bigint)
order by subject desc, audit_act.number desc
limit 101;

-- Among the newest 200 events that readers see.
-- name: find_event_of_status
with page as materialized (
  select position, event_id, sequence, type, occurred_at, request_id, operator_id, details
  from published_event
  where (public_token, sequence) < (:publicToken, :beforeSequence::integer)
    and public_token >= :publicToken and client_id = :clientId
  order by public_token desc, published_event.sequence desc
  limit 200
)
select sequence, event_id as "eventId", type,
  to_char(occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at",
  request_id as "requestId", operator_id as "operatorId", details
from page
where type in ('card.created', 'card.status_changed')
order by page.sequence desc
limit 1;

-- name: find_unpublished_event_of_status
select sequence, event_id as "eventId", type,
  to_char(occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at",
  request_id as "requestId", operator_id as "operatorId", details
from event
where public_token = any(array[:publicToken]) and not published
  and type in ('card.created', 'card.status_changed')
order by public_token desc, event.sequence desc
limit 1;

-- name: find_note_of_event
select encode(note, 'hex') as "note"
from event
where public_token = any(array[:publicToken]) and sequence = :sequence and note is not null
limit 1;
