-- Counts a use of a limit: p_uses within any p_window_seconds.
--
-- A limit stores the instants of its uses, newest first, in microseconds since 1970, at most 20. If
-- p_uses exceeds 20, each instant stands for several uses and is the time of the last of them. So
-- no window ever has more uses than allowed, and a use is refused early by at most those several.
--
-- A use joins the newest instant while that counts and is not full; otherwise it begins another
-- one. Of two concurrent uses, the one that waited may have read the clock first: instants never go
-- back.
--
-- Returns the instants with the use, or is_left = false if no use is left.
create or replace function next_uses(
  p_last_uses bigint[],
  p_newest_uses integer,
  p_uses integer,
  p_window_seconds integer,
  p_at bigint,
  out is_left boolean,
  out last_uses bigint[],
  out newest_uses integer
)
language plpgsql
immutable
as $function$
declare
  v_uses_each constant integer := greatest(1, (p_uses + 19) / 20);
  v_instants constant integer := (p_uses + v_uses_each - 1) / v_uses_each;
  -- The newest instant stands for at most this many uses while all others count.
  v_newest_most constant integer := p_uses - (v_instants - 1) * v_uses_each;
  v_counts_from constant bigint := p_at - p_window_seconds * 1000000::bigint;
  v_is_full constant boolean := coalesce(p_last_uses[v_instants] > v_counts_from, false);
  v_at constant bigint := greatest(p_at, p_last_uses[1]);
  v_others bigint[];
begin
  if p_last_uses[1] > v_counts_from and p_newest_uses < v_uses_each then
    is_left := p_uses > 0 and (not v_is_full or p_newest_uses < v_newest_most);
    newest_uses := p_newest_uses + 1;
    v_others := p_last_uses[2 : v_instants];
  else
    is_left := p_uses > 0 and not v_is_full;
    newest_uses := 1;
    v_others := p_last_uses[1 : v_instants - 1];
  end if;
  last_uses := v_at || v_others;
end
$function$;
