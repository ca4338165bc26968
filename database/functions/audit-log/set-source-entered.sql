-- Records the position up to which a source is entered in the audit log. The caller has locked the
-- log. The position never goes back.
create or replace function set_source_entered(p_source text, p_position bigint) returns void
language plpgsql
as $function$
begin
  insert into audit_entered as entered (source, position)
  values (p_source, p_position)
  on conflict (source) do update
  set position = excluded.position
  where entered.position < excluded.position;
end
$function$;
