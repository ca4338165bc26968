-- The functions of a database (docs/decisions/0037-functions.md).

-- name: list_installed_functions
select file_name as "fileName", content_hash as "contentHash"
from installed_function
order by file_name;

-- name: record_installed_function
insert into installed_function (file_name, content_hash)
values (:fileName, :contentHash)
on conflict (file_name) do update
set content_hash = excluded.content_hash, installed_at = excluded.installed_at;

-- name: find_function_signature
select oid::regprocedure::text as "signature"
from pg_proc
where proname = :functionName and pronamespace = current_schema()::regnamespace;

-- name: distribute_function
select create_distributed_function(
  :signature::text::regprocedure,
  distribution_arg_name => :distributedBy,
  colocate_with => :beside
);

-- name: copy_function_to_nodes
select create_distributed_function(:signature::text::regprocedure);

-- name: is_card_spread
select exists (
  select
  from pg_dist_partition
  where logicalrelid = 'card'::regclass and partmethod = 'h'
) as "isSpread";
