-- Works with programs from migration 0006 on.

-- Who asked for an erasure, and the act that says so. Nobody asks for what is old to be erased: an act says that, too.
alter table audit_erasure add column requested_by text;
alter table audit_erasure add column request_act uuid;
update audit_erasure set requested_by = audit_act.client_id, request_act = audit_act.act_id
from audit_act
where audit_act.act = 'erasure.requested' and audit_act.subject = audit_erasure.erasure_id::text;
