-- Raised whenever a delivery is queued anew: a try that began before decides nothing of it.
alter table delivery add column round integer not null default 1 check (round > 0);
-- Settled ones are forgotten by their age, whatever lies before them.
create index delivery_by_age on delivery (client_id, webhook_id, created_at)
  where status <> 'Pending';

-- When it got its address, or was enabled again: three days are counted from then at the earliest.
alter table webhook add column url_since timestamptz not null default now();

-- Secrets that were replaced sign, too, until their time is over. Sealed by the HSM.
create table webhook_former_secret (
  client_id text not null,
  webhook_id uuid not null,
  former_secret_id uuid not null default gen_random_uuid(),
  secret bytea not null,
  signs_until timestamptz not null,
  primary key (client_id, webhook_id, former_secret_id)
);
insert into webhook_former_secret (client_id, webhook_id, secret, signs_until)
select client_id, webhook_id, previous_secret, previous_secret_until
from webhook where previous_secret is not null;
alter table webhook drop column previous_secret, drop column previous_secret_until;

-- Failures in a row, kept from one that drains to the next: `failing` follows from it.
alter table delivery_queue add column failures_in_row integer not null default 0
  check (failures_in_row >= 0);
