-- Closes an audit log: nothing is appended to it any more. A closed log is not opened again.
create or replace function close_audit_log(p_log integer) returns void
language plpgsql
as $function$
begin
  update audit_log
  set closed_at = clock_timestamp()
  where log = p_log and closed_at is null;
end
$function$;
