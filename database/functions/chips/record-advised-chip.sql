-- Records what the cryptogram of an advice or a reversal proves. No advice is refused for it.
--
-- A right one (p_chip, as lock_chip has it) uses its transaction counter, if that was not used
-- before, so that a cryptogram of a stand-in approval is not approved again. After an online
-- request it was used, and nothing changes. A wrong one (p_chip is null) is counted as a mistake of
-- p_network_id, as one of a request is. Lock order: chip, mistake.
--
-- Returns whether to report guessing now.
--
-- Distributed by p_public_token, beside card.
create or replace function record_advised_chip(
  p_public_token text,
  p_chip jsonb,
  p_network_id text,
  p_mistakes integer,
  p_window bigint
) returns boolean
language plpgsql
as $function$
begin
  if p_chip is null then
    return count_mistake(p_public_token, p_network_id, 'cryptogram', p_mistakes, p_window);
  end if;
  if lock_chip(p_public_token, p_chip) then
    perform use_chip(p_public_token, p_chip);
  end if;
  return false;
end
$function$;
