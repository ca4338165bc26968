-- Fails if the server has no disk space for changes: creates a table of more than one page and
-- drops it again.
--
-- The table is unlogged, so that a probe of a full disk does not fill it. Callers take turns.
create or replace function probe_room() returns void
language plpgsql
as $function$
begin
  perform pg_advisory_xact_lock(hashtext('pinfold room_probe'));
  create unlogged table room_probe (filler text);
  insert into room_probe
  select repeat('x', 1900)
  from generate_series(1, 600);
  drop table room_probe;
end
$function$;
