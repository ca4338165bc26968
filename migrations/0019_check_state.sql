-- Works with programs from migration 0006 on.

-- Over the digests of clients, products, keys and links, as the last check kept them.
alter table audit_check add column rows_fold bytea not null default '';
-- Of all the columns, by the key of the audit log: whoever writes the database cannot make it.
alter table audit_check add column state_signature bytea;
