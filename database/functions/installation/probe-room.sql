-- Fails where the server has no room for changes: makes a table of more than a page that has room
-- in it, and drops it again.
--
-- The table has no log: what is tried while the disk is full must not fill it. Callers take turns.
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
