-- Locks the row of the current audit log, which is the last one, until the transaction ends. Other
-- transactions append no entries meanwhile.
--
-- Returns the row; no row if no log has begun.
create or replace function lock_audit_log() returns setof audit_log
language plpgsql
as $function$
begin
  return query
    select *
    from audit_log
    where log = (select max(log) from audit_log)
    for update;
end
$function$;
