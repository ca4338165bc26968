-- The acts, and who did them.

-- name: record_act
select record_act(
  p_act => :act,
  p_subject_kind => :subjectKind,
  p_subject => :subject,
  p_details => :details,
  p_client_id => :clientId,
  p_request_id => :requestId
) as "actId";

-- name: has_audit_act
select exists (
  select 1
  from audit_act
  where act_id = :actId::uuid
) as "isThere";

-- The position keeps the microseconds that a JavaScript date would lose. Each list has its own
-- index.

-- name: list_operator_acts
select number::float8 as "number",
  to_char(acted_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at",
  act, subject_kind as "subjectKind", subject, details, client_id as "clientId",
  request_id as "requestId"
from audit_act
where subject_kind <> 'key' and client_id is not null
  and (acted_at, number) < (:at::timestamptz, :number::bigint)
order by acted_at desc, number desc
limit :limit;

-- name: list_key_acts
select number::float8 as "number",
  to_char(acted_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at",
  act, subject_kind as "subjectKind", subject, details, client_id as "clientId",
  request_id as "requestId"
from audit_act
where subject_kind = 'key'
  and (acted_at, number) < (:at::timestamptz, :number::bigint)
order by acted_at desc, number desc
limit :limit;
