-- Whether a client may still be told what happens to its cards: said here, and nowhere else.
alter table client add column receives_events boolean not null
  generated always as (active and scopes && array['events.read', 'webhooks.write']) stored;

-- While it may not, its deliveries are suspended: since then, and before that for so many seconds in all.
-- The three days of an endpoint are counted on a clock that stands still meanwhile, which is now() less
-- these seconds; url_since and first_tried_at are instants of that clock.
alter table client
  add column deliveries_suspended_at timestamptz,
  add column deliveries_suspended_seconds double precision not null default 0
    check (deliveries_suspended_seconds >= 0);
update client set deliveries_suspended_at = now() where not receives_events;
