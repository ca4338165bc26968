-- Works with programs from migration 0006 on.

-- Who approved the request of an erasure: what the approver did stays, as what the requester did.
alter table audit_erasure add column approved_by text;
