-- Leases for work that one process at a time does.

-- A lease that ends later than any valid one was given by a clock that was set back since, for
-- example after a failover: it is ignored, so that no process waits for the clock to catch up. The
-- time of a statement that waited for another one is from before the wait, which the minute allows
-- for.
-- name: claim_lease
insert into lease (lease_name, holder, leased_until)
values (:leaseName, :holder, now() + make_interval(secs => :seconds))
on conflict (lease_name) do update
set holder = excluded.holder, leased_until = excluded.leased_until
where lease.holder = excluded.holder or lease.leased_until <= now()
  or lease.leased_until > excluded.leased_until + interval '1 minute'
returning lease_name as "leaseName";

-- name: release_lease
delete from lease
where lease_name = :leaseName and holder = :holder;

-- name: free_leases
delete from lease;

-- name: free_streams
delete from client_stream;

-- name: free_delivery_queues
update delivery_queue
set holder = null, leased_until = '-infinity', due_at = now()
where holder is not null;

-- name: is_lease_held
select 1 as "one"
from lease
where lease_name = :leaseName and leased_until > now();
