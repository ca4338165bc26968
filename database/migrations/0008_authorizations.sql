-- Authorization requests of card networks: the tries that they spent, and how they were answered.

-- What a card network asked about a card, the try that it spent, the result of each check, and the
-- answer. A row is written when the try is spent, and completed when the try is settled; a request
-- that spends no try has its row written with its answer. Where PIN and CVV2 come together, the
-- CVV2 is tried when the PIN has matched: its try opens the row that is answered.
--
-- No decision depends on these rows, and old ones are deleted. No foreign key: it would lock the
-- card's row, which is a write to another page.
create table authorization_request (
  public_token text not null,
  -- A version 7 UUID (RFC 9562): a card's ids are in the order of their time.
  authorization_id uuid not null,
  -- Of the card, which never changes.
  client_id text not null,
  network_id text not null,
  request_id text not null,
  reference text not null,
  entry_mode text not null,
  requested_at timestamptz not null default clock_timestamp(),
  -- The try: all null where none was spent.
  kind text check (kind in ('pin', 'cvv')),
  -- The value of try_counter.spent after this try: it never repeats.
  try_number integer,
  epoch integer,
  result text check (result in ('unresolved', 'match', 'mismatch')),
  -- Whether the try was restored: by its own match, by a later match, or because the HSM did not
  -- answer.
  restored boolean not null default false,
  -- By the counter's own row: after the spend, and after the result once that is known.
  remaining_tries integer,
  -- The answer: null until it is given, and for ever where a process was lost before it was.
  response_code text,
  -- The checks in the order in which they were made, as JSON. Never the value that was checked.
  checks text,
  duration_ms integer,
  decided_at timestamptz,
  -- Whether the audit log has yet to enter the try.
  to_enter boolean not null default false,
  primary key (public_token, authorization_id)
)
-- Room for the answer on the page of the request: then it changes no index.
with (fillfactor = 70);

create index authorization_request_by_try on authorization_request (public_token, kind, try_number)
  where try_number is not null;
-- A client's authorizations over all its cards, newest first.
create index authorization_request_by_client on authorization_request (client_id, authorization_id);
-- A network's references mostly ascend, and time always does: both indexes are written at their
-- end.
create index authorization_request_by_reference
  on authorization_request (reference, authorization_id);
create index authorization_request_by_time on authorization_request (requested_at);
-- Few rows: a try is entered within a second of its result. It begins as no other index does: so
-- the order of the ids leaves the planner no other.
create index authorization_request_to_enter on authorization_request (authorization_id)
  where to_enter;

-- The tries among them.
create view attempt as
select public_token, kind, try_number, epoch, requested_at as attempted_at, result, restored,
  remaining_tries, entry_mode, reference, network_id, request_id
from authorization_request
where try_number is not null;

-- How many authorization requests were answered with each code in each past minute: a chart costs
-- what it shows. The next count repeats the newest minute, which makes it whole.
create table authorization_count (
  minute timestamptz not null,
  response_code text not null,
  count bigint not null check (count > 0),
  primary key (minute, response_code)
);
