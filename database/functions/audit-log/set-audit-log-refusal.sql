-- Records why no checkpoint of an audit log is signed; null if checkpoints are signed again.
create or replace function set_audit_log_refusal(p_log integer, p_refusal text) returns void
language plpgsql
as $function$
begin
  update audit_log
  set refusal = p_refusal
  where log = p_log and refusal is distinct from p_refusal;
end
$function$;
