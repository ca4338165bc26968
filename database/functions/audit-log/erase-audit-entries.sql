-- Erases the text and the card of entries of an audit log. The commitments stay.
--
-- Only entries that an erasure has named before are erased (audit_erasure.pending_from and
-- pending_to): by then a checkpoint covers the act that names them.
--
-- Returns how many entries were erased.
create or replace function erase_audit_entries(
  p_log integer,
  p_from bigint,
  p_to bigint
) returns integer
language plpgsql
as $function$
declare
  v_count integer;
begin
  if not exists (
    select
    from audit_erasure
    cross join lateral unnest(pending_from, pending_to) as named (from_index, to_index)
    where pending_log = p_log and from_index <= p_from and to_index >= p_to
  )
  then
    raise exception 'No erasure names the entries % to % of audit log %.', p_from, p_to, p_log;
  end if;
  update audit_entry
  set salt = null, text = null, public_token = null
  where log = p_log and entry_index between p_from and p_to and text is not null;
  get diagnostics v_count = row_count;
  return v_count;
end
$function$;
