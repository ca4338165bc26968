-- Records the number up to which acts are entered in the audit log. The caller has locked the log.
-- The number never goes back.
create or replace function set_acts_entered(p_number bigint) returns void
language plpgsql
as $function$
begin
  update audit_entered
  set position = p_number
  where source = 'acts' and position < p_number;
end
$function$;
