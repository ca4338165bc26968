-- Works with programs from migration 0006 on.

-- What a card network asked of a card, what each check came to and what was answered: one row, written when it is
-- decided by the statement that commits that. Nothing is decided by what stands here, and old rows are forgotten. No
-- foreign key, and nothing in it ever changes: so a row is written to the end of its table.
create table authorization_record (
  public_token text not null,
  -- A version 7 UUID (RFC 9562): a card's are in the order of their time.
  authorization_id uuid not null,
  network_id text not null,
  request_id text not null,
  reference text not null,
  entry_mode text not null,
  response_code text not null,
  -- The checks in the order in which they were made, as JSON. Never the value that was checked.
  checks text not null,
  -- Tries that were left of what was compared last, by the counter's own row; null where nothing was.
  remaining_tries integer check (remaining_tries >= 0),
  duration_ms integer not null check (duration_ms >= 0),
  decided_at timestamptz not null default clock_timestamp(),
  primary key (public_token, authorization_id)
);
-- A network's references mostly ascend, and time always does: both indexes are written at their end.
create index authorization_record_by_reference on authorization_record (reference, authorization_id);
create index authorization_record_by_time on authorization_record (decided_at, response_code);

-- How many authorizations were answered so within each minute that is over: charts cost what they show, and not what was
-- asked. The newest minute is counted again by the next count, which makes it whole.
create table authorization_count (
  minute timestamptz not null,
  response_code text not null,
  count bigint not null check (count > 0),
  primary key (minute, response_code)
);

-- Which operator acted on a client's card; null where the client itself did, a network, or nobody. No part of what a
-- reader of events sees.
alter table event add column operator_id text;
alter table published_event add column operator_id text;
-- A card's own events, in the order of their sequence. It is written where events are published, behind the act. It begins as
-- no other index does: else it looked as good as that of positions to a planner that had not heard of a client.
create index published_event_by_card on published_event (public_token, sequence);

-- Cards of all clients, as an operator looks for them, the newest first. None of their columns ever changes, so no change of a
-- card's row is kept from its own page by them. Each begins as no other index does: no plan can take one for another.
create index card_by_last_four on card (right(masked_pan, 4), created_at, public_token);
create index card_by_any_reference on card (lower(customer_reference), created_at, public_token)
  where customer_reference is not null;

-- What operators were shown of a card, and what they were refused.
alter table audit_act drop constraint audit_act_subject_kind_check;
alter table audit_act add constraint audit_act_subject_kind_check
  check (subject_kind in ('product', 'client', 'key', 'process', 'setting', 'log', 'card'));
create index audit_act_of_card on audit_act (subject, number) where subject_kind = 'card';
alter table refused_disclosure drop constraint refused_disclosure_act_check;
alter table refused_disclosure add constraint refused_disclosure_act_check
  check (act in ('pin.revealed', 'card_data.revealed', 'cardholder.revealed'));
