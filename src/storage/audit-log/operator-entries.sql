-- Entries of operators in the audit log, newest first. Each filter has its own index, whose columns
-- are the order of its list: no other plan is bounded. The position keeps the microseconds that a
-- JavaScript date would lose.

-- name: list_operator_entries
select log, entry_index::float8 as "index", entry_id as "entryId", client_id as "clientId",
  public_token as "publicToken", act,
  to_char(entered_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "enteredAt", text
from audit_entry
where by_operator
  and (entered_at, log, entry_index) < (:at::timestamptz, :log::integer, :index::bigint)
  and entered_at >= :from::timestamptz
order by entered_at desc, log desc, entry_index desc
limit :limit;

-- name: list_operator_entries_of_client
select log, entry_index::float8 as "index", entry_id as "entryId", client_id as "clientId",
  public_token as "publicToken", act,
  to_char(entered_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "enteredAt", text
from audit_entry
where by_operator
  and (client_id, entered_at, log, entry_index)
    < (:clientId, :at::timestamptz, :log::integer, :index::bigint)
  and (client_id, entered_at) >= (:clientId, :from::timestamptz)
order by client_id desc, entered_at desc, log desc, entry_index desc
limit :limit;

-- name: list_operator_entries_of_act
select log, entry_index::float8 as "index", entry_id as "entryId", client_id as "clientId",
  public_token as "publicToken", act,
  to_char(entered_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "enteredAt", text
from audit_entry
where by_operator
  and (act, entered_at, log, entry_index)
    < (:act, :at::timestamptz, :log::integer, :index::bigint)
  and (act, entered_at) >= (:act, :from::timestamptz)
order by act desc, entered_at desc, log desc, entry_index desc
limit :limit;

-- name: list_operator_entries_of_client_and_act
select log, entry_index::float8 as "index", entry_id as "entryId", client_id as "clientId",
  public_token as "publicToken", act,
  to_char(entered_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "enteredAt", text
from audit_entry
where by_operator
  and (client_id, act, entered_at, log, entry_index)
    < (:clientId, :act, :at::timestamptz, :log::integer, :index::bigint)
  and (client_id, act, entered_at) >= (:clientId, :act, :from::timestamptz)
order by client_id desc, act desc, entered_at desc, log desc, entry_index desc
limit :limit;

-- name: list_operator_entries_of_card
select log, entry_index::float8 as "index", entry_id as "entryId", client_id as "clientId",
  public_token as "publicToken", act,
  to_char(entered_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "enteredAt", text
from audit_entry
where by_operator and public_token is not null
  and (public_token, entered_at, log, entry_index)
    < (:publicToken, :at::timestamptz, :log::integer, :index::bigint)
  and (public_token, entered_at) >= (:publicToken, :from::timestamptz)
order by public_token desc, entered_at desc, log desc, entry_index desc
limit :limit;
