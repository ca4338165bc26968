-- Works with programs from migration 0006 on.

-- A receiver that answers 429 or 503 with Retry-After gets no delivery until that time. The client ends the
-- rest by a ping, a resend, a replay or a change of the webhook.
alter table delivery_queue add column rests_until timestamptz not null default '-infinity';
