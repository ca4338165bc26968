-- The outbox: events that were recorded with their acts and are not yet published.

-- name: list_unplaced_events
select client_id as "clientId", public_token as "publicToken", sequence, event_id as "eventId",
  type, occurred_at::text as "occurredAt", details, request_id as "requestId",
  operator_id as "operatorId",
  exists (
    select 1
    from event earlier
    where earlier.public_token = event.public_token and earlier.sequence = event.sequence - 1
      and not earlier.published
  ) as "followsUnpublished"
from event
where not published and occurred_at >= :occurredAt::timestamptz
  and (occurred_at, public_token, sequence)
    > (:occurredAt::timestamptz, :publicToken, :sequence::integer)
  and client_id <> all(:leftClientIds::text[])
order by occurred_at, public_token, sequence
limit :limit;

-- name: publish_events
select publish_events(
  p_client_id => :clientId,
  p_events => :events::jsonb,
  p_count => :count
);

-- name: mark_events_published
select mark_events_published(
  p_times => :times::timestamptz[],
  p_public_tokens => :publicTokens,
  p_sequences => :sequences
);
