-- Begins an audit log, unless another process was first. The previous log must be closed.
--
-- Returns whether this call began the log.
create or replace function begin_audit_log(
  p_log integer,
  p_origin text,
  p_predecessor_checkpoint text,
  p_reason text
) returns boolean
language plpgsql
as $function$
begin
  if exists (select from audit_log where log < p_log and closed_at is null) then
    raise exception 'The audit log before log % is still open.', p_log;
  end if;
  insert into audit_log (log, origin, predecessor_checkpoint, reason)
  values (p_log, p_origin, p_predecessor_checkpoint, p_reason)
  on conflict do nothing;
  return found;
end
$function$;
