-- Returns the current time in whole microseconds since 1970.
create or replace function now_microseconds() returns bigint
language plpgsql
as $function$
begin
  return (extract(epoch from clock_timestamp()) * 1000000)::bigint;
end
$function$;
