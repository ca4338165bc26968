-- Deletes checkpoints that were signed more than a day ago, except the last of each hour. So the
-- newest checkpoint of each log stays.
create or replace function delete_old_checkpoints() returns void
language plpgsql
as $function$
begin
  delete from audit_checkpoint
  where signed_at < now() - interval '1 day' and (log, size) not in (
    select log, max(size)
    from audit_checkpoint
    group by log, date_trunc('hour', signed_at, 'UTC')
  );
end
$function$;
