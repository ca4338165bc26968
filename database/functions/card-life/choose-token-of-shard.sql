-- Chooses a token for the next card of a line, on a cluster: a candidate in the shard of the first
-- card of the line. So one function, which runs beside that shard, can do each act of the line in
-- one transaction.
--
-- Returns null if no candidate is in the shard.
create or replace function choose_token_of_shard(
  p_line_token text,
  p_candidates text[]
) returns text
language plpgsql
as $function$
declare
  v_shard bigint := get_shard_id_for_distribution_column('card', p_line_token);
  v_candidate text;
begin
  foreach v_candidate in array p_candidates loop
    if get_shard_id_for_distribution_column('card', v_candidate) = v_shard then
      return v_candidate;
    end if;
  end loop;
  return null;
end
$function$;
