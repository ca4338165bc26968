-- Works with programs from migration 0006 on.

-- Since when so many deliveries in a row have failed that the endpoint is a failing one; null while it is none.
alter table delivery_queue add column failing_since timestamptz;
