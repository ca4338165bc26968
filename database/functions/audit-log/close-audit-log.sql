-- Closes an audit log. A closed log takes no more entries and is never opened again.
create or replace function close_audit_log(p_log integer) returns void
language plpgsql
as $function$
begin
  update audit_log
  set closed_at = clock_timestamp()
  where log = p_log and closed_at is null;
end
$function$;
