-- Undoes the act that calls it, because a condition of the act failed halfway: raises PF001, which
-- rolls back the whole statement.
create or replace function undo_act(p_reason text) returns boolean
language plpgsql
as $function$
begin
  raise exception '%', p_reason using errcode = 'PF001';
end
$function$;
