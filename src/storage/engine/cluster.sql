-- The placement of a database's tables on the nodes of a cluster.

-- name: is_cluster
select is_cluster as "isCluster"
from (
  select exists (
    select
    from pg_extension
    where extname = 'citus'
  ) as is_cluster
) as asked;

-- name: count_cluster_nodes
select count(*) filter (where isactive and shouldhaveshards)::integer as "nodes",
  coalesce(bool_or(groupid = 0), false) as "isCoordinatorKnown"
from pg_dist_node
where noderole = 'primary';

-- name: list_placed_tables
select logicalrelid::text as "tableName",
  column_to_column_name(logicalrelid, partkey) as "column"
from pg_dist_partition
where partmethod = 'h' or repmodel = 't';

-- name: list_references_of_tables
select format('alter table %s drop constraint %I', conrelid::regclass, conname) as "drop",
  format('alter table %s add constraint %I %s', conrelid::regclass, conname,
    pg_get_constraintdef(oid)) as "add"
from pg_constraint
where contype = 'f'
  and (
    conrelid::regclass::text = any (:tables)
    or confrelid::regclass::text = any (:tables)
  )
order by conrelid::regclass::text, conname;

-- Rows are locked on the nodes, whose sessions do not share the settings of the coordinator's
-- session.
-- name: find_lock_timeout_of_nodes
select format('alter database %I set lock_timeout = %s', current_database(),
  :lockTimeoutMs::integer) as "set";

-- name: copy_table_to_nodes
select create_reference_table(:tableName::regclass);

-- name: spread_table
select create_distributed_table(:tableName::regclass, :column, colocate_with => :colocated);

-- The table on the coordinator is empty if its rows are on the nodes.
-- name: list_rows_left_on_coordinator
select logicalrelid::text as "tableName"
from pg_dist_partition
where logicalrelid::text = any (:tables) and pg_relation_size(logicalrelid) > 0
order by logicalrelid::text;

-- name: clear_rows_left_on_coordinator
select truncate_local_data_after_distributing_table(:tableName::regclass);
