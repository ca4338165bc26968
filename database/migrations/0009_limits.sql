-- Limits that hold for all processes and across restarts: a maximum number of uses within any
-- period of a given length.

create table card_limit (
  public_token text not null references card,
  limit_name text not null,
  -- Microseconds since 1970, newest first: one for each use or, if a limit allows more than 20, for
  -- the last of several uses.
  last_uses bigint[] not null check (cardinality(last_uses) between 1 and 20),
  -- The number of uses that the newest instant stands for.
  newest_uses integer not null check (newest_uses > 0),
  -- The day (since 1970) from which no use counts. A day, so that few uses change the
  -- index.
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
