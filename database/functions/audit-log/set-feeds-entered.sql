-- Records the position up to which each of these clients' feeds is entered in the audit log. The
-- caller has locked the log. A position never goes back.
create or replace function set_feeds_entered(
  p_client_ids text[],
  p_positions bigint[]
) returns void
language plpgsql
as $function$
begin
  insert into audit_feed (client_id, position)
  select client_id, position
  from unnest(p_client_ids, p_positions) as given (client_id, position)
  on conflict (client_id) do update
  set position = excluded.position
  where excluded.position > audit_feed.position;
end
$function$;
