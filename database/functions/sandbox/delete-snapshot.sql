-- Deletes a snapshot of the sandbox, with its rows.
--
-- Returns whether there was one.
create or replace function delete_snapshot(p_snapshot_name text) returns boolean
language plpgsql
as $function$
begin
  delete from sandbox_snapshot where snapshot_name = p_snapshot_name;
  return found;
end
$function$;
