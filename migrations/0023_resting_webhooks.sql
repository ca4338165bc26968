-- Works with programs from migration 0006 on.

-- A receiver that answers 429 or 503 with Retry-After is left alone until then, with all that waits for its endpoint. What the
-- client itself asks for (a ping, a resend, a replay, a change of the webhook) ends the rest.
alter table delivery_queue add column rests_until timestamptz not null default '-infinity';
