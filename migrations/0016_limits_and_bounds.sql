-- Which claim of a key an answer belongs to: one that comes after the key was forgotten, and taken anew, is not
-- recorded as the answer of the other.
alter table idempotency_record add column claim_id uuid not null default gen_random_uuid();

-- Limits that hold for all processes and across restarts: so many uses within any stretch of time, whenever it
-- begins. They start anew: the rows before told how many uses there were, not when.
drop table card_limit;
drop table client_limit;
create table card_limit (
  public_token text not null references card,
  limit_name text not null,
  -- Microseconds since 1970, newest first: of each use or, where a limit has more than 20, of the last of each few.
  last_uses bigint[] not null check (cardinality(last_uses) between 1 and 20),
  -- Uses that the newest instant stands for.
  newest_uses integer not null check (newest_uses > 0),
  -- The day (since 1970) from whose beginning on none of them counts. A day, so that few uses change the index.
  forget_on_day integer not null,
  primary key (public_token, limit_name)
);
create index card_limit_forgotten on card_limit (forget_on_day);
create table client_limit (
  client_id text not null,
  limit_name text not null,
  last_uses bigint[] not null check (cardinality(last_uses) between 1 and 20),
  newest_uses integer not null check (newest_uses > 0),
  forget_on_day integer not null,
  primary key (client_id, limit_name)
);
create index client_limit_forgotten on client_limit (forget_on_day);

-- The event first: beginning with the client, this index looked as good as that of positions for a client of whom the
-- planner had not heard, and all of that client's events were read for a few.
alter table placed_event drop constraint placed_event_client_id_event_id_key;
alter table placed_event add unique (event_id, client_id);

-- Expiries that one card network got wrong of one card: they cost no try, and so are watched.
create table wrong_expiry (
  public_token text not null references card,
  client_id text not null,
  -- Microseconds since 1970, newest first: as many as are needed to tell guessing.
  given_at bigint[] not null check (cardinality(given_at) > 0),
  -- When it was reported that there were too many of them.
  reported_at bigint,
  forget_on_day integer not null,
  primary key (public_token, client_id)
);
create index wrong_expiry_forgotten on wrong_expiry (forget_on_day);
