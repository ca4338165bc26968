-- Works with programs from migration 0006 on.

-- How many requests of one requester wait.
create index approval_waiting_of_requester on approval (requester_id, requested_at) where state = 'waiting';
-- What ended without a decision is not kept.
update approval set payload = null where state in ('expired', 'stale', 'withdrawn') and payload is not null;
