-- Settles a spent try by the result of its comparison.
--
--   match: restores every outstanding try up to and including this one. Later tries stay spent.
--   mismatch: restores nothing. If no try is left and none may still match, the PIN or CVV is
--     blocked, and the caller records the event.
--   unresolved: the HSM gave no answer, so the try is restored, once.
--
-- The counter's own row decides, under its lock. A try has no effect after its epoch has ended, or
-- after the block was reported because the try was lost, which is assumed 30 seconds after it was
-- spent.
--
-- The caller has locked the card's row before, if it records an event.
--
-- Returns the numbers of the restored tries, how many tries remain, and whether this call blocked
-- the PIN or CVV; nulls if the counter does not exist.
create or replace function settle_try(
  p_public_token text,
  p_kind text,
  p_try_number integer,
  p_epoch integer,
  p_comparison text,
  out restored_tries integer[],
  out remaining integer,
  out is_block boolean
)
language plpgsql
as $function$
declare
  v_counter try_counter;
  v_position integer;
  v_pending_since bigint := extract(epoch from clock_timestamp()) * 1000000 - 30000000;
begin
  select * into v_counter
  from try_counter
  where public_token = p_public_token and kind = p_kind
  for no key update;
  if not found then
    return;
  end if;
  restored_tries := '{}';
  is_block := false;
  remaining := v_counter.try_limit - (v_counter.spent - v_counter.restored);
  if v_counter.epoch <> p_epoch or v_counter.block_reported then
    return;
  end if;
  -- Numbers only grow, so the tries up to this one precede all others.
  v_position := case p_comparison
    when 'match' then width_bucket(p_try_number, v_counter.outstanding_tries)
    else coalesce(array_position(v_counter.outstanding_tries, p_try_number), 0)
  end;
  if p_comparison = 'match' then
    restored_tries := v_counter.outstanding_tries[: v_position];
    v_counter.outstanding_tries := v_counter.outstanding_tries[v_position + 1 :];
    v_counter.open_since := v_counter.open_since[v_position + 1 :];
  elsif p_comparison = 'unresolved' then
    restored_tries := v_counter.outstanding_tries[v_position : v_position];
    v_counter.outstanding_tries := v_counter.outstanding_tries[: v_position - 1]
      || v_counter.outstanding_tries[v_position + 1 :];
    v_counter.open_since := v_counter.open_since[: v_position - 1]
      || v_counter.open_since[v_position + 1 :];
  else
    if v_position > 0 then
      v_counter.open_since[v_position] := 0;
    end if;
    is_block := remaining = 0 and not v_pending_since < any (v_counter.open_since);
  end if;
  remaining := remaining + cardinality(restored_tries);
  update try_counter
  set restored = v_counter.restored + cardinality(restored_tries),
    block_reported = is_block,
    outstanding_tries = v_counter.outstanding_tries,
    open_since = v_counter.open_since
  where public_token = p_public_token and kind = p_kind;
end
$function$;
