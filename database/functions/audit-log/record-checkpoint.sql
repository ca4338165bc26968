-- Records a signed checkpoint of an audit log.
--
-- A size has one root. The same root may be signed again, after its first note was lost or a key
-- changed.
create or replace function record_checkpoint(
  p_log integer,
  p_size bigint,
  p_root bytea,
  p_note text
) returns void
language plpgsql
as $function$
begin
  insert into audit_checkpoint (log, size, root, note)
  values (p_log, p_size, p_root, p_note)
  on conflict (log, size) do update
  set note = excluded.note, signed_at = excluded.signed_at
  where audit_checkpoint.root = excluded.root;
end
$function$;
