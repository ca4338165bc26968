-- Suspended deliveries of clients that may not be notified. The clock of their deliveries stops.

-- Runs after a change of the client, so that only the database has the rule. A repeat does nothing.
-- name: follow_delivery_suspension
with clock as materialized (select now() as at)
update client
set deliveries_suspended_seconds = deliveries_suspended_seconds
    + greatest(0, coalesce(extract(epoch from at - deliveries_suspended_at)::float8, 0)),
  deliveries_suspended_at = case when not receives_events then at end
from clock
where client_id = :clientId and receives_events = (deliveries_suspended_at is not null);

-- name: list_suspended_deliveries
select client_id as "clientId", deliveries_suspended_at as "suspendedAt",
  sum(pending)::integer as "waiting"
from client
join delivery_group using (client_id)
where not receives_events and pending > 0
group by client_id, deliveries_suspended_at
order by client_id
limit :limit;
