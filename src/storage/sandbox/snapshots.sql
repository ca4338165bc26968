-- Snapshots of a sandbox.

-- name: take_snapshot
select take_snapshot(p_snapshot_name => :snapshotName, p_clock => :clock)::float8 as "rows";

-- name: restore_snapshot
select restore_snapshot(p_snapshot_name => :snapshotName) as "outcome";

-- name: delete_snapshot
select delete_snapshot(p_snapshot_name => :snapshotName) as "isDeleted";

-- name: list_snapshots
select sandbox_snapshot.snapshot_name as "snapshotName", taken_at as "takenAt", clock,
  sum(row_count)::float8 as "rows"
from sandbox_snapshot
join sandbox_snapshot_table
  on sandbox_snapshot_table.snapshot_name = sandbox_snapshot.snapshot_name
where sandbox_snapshot.snapshot_name > :after
group by sandbox_snapshot.snapshot_name
order by sandbox_snapshot.snapshot_name
limit :limit;

-- name: find_snapshot
select sandbox_snapshot.snapshot_name as "snapshotName", taken_at as "takenAt", clock,
  sum(row_count)::float8 as "rows"
from sandbox_snapshot
join sandbox_snapshot_table
  on sandbox_snapshot_table.snapshot_name = sandbox_snapshot.snapshot_name
where sandbox_snapshot.snapshot_name = :snapshotName
group by sandbox_snapshot.snapshot_name;

-- Finds acts that a snapshot would separate from the audit log. A try without an answer is entered
-- later, whether its row is restored or not: requests are read once, by their arrival.
-- name: has_acts_outside_log
select exists (select from event where not published)
  or exists (
    select
    from feed_head
    left join audit_feed on audit_feed.client_id = feed_head.client_id
    where last_position > coalesce(position, 0)
  ) as "isPending";
