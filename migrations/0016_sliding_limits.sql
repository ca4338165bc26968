-- Which claim of a key an answer belongs to: one that comes after the key was forgotten, and taken anew, is not
-- recorded as the answer of the other.
alter table idempotency_record add column claim_id uuid not null default gen_random_uuid();
