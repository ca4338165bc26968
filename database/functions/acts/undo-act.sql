-- Undoes the act that calls it, because it came to nothing halfway: raises PF001, which rolls back
-- the whole statement.
create or replace function undo_act(p_reason text) returns boolean
language plpgsql
as $function$
begin
  raise exception '%', p_reason using errcode = 'PF001';
end
$function$;
