-- Returns the row of a chip after a use of the chip: its transaction counter, the version of its
-- keys, and what it reported of its PIN tries. A counter below the highest one belongs to an older
-- report, which changes neither the keys nor the tries. contactAtc is the counter if the chip was
-- read by its contacts, otherwise null.
--
-- remainingOfflineTries is null if the PIN in the chip is not blocked and the chip reports no
-- number: what was known before, such as a block, is then out of date. It is absent if the message
-- says nothing of the PIN.
create or replace function advance_chip(p_known chip, p_chip jsonb, p_now timestamptz) returns chip
language plpgsql
immutable
as $function$
declare
  v_atc integer := (p_chip ->> 'atc')::integer;
  v_tries integer := (p_chip ->> 'remainingOfflineTries')::integer;
begin
  if v_atc >= p_known.highest_atc then
    p_known.key_version := (p_chip ->> 'keyVersion')::integer;
    if p_chip ? 'remainingOfflineTries' then
      p_known.remaining_offline_tries := v_tries;
      p_known.offline_tries_at := case when v_tries is not null then p_now end;
      p_known.offline_tries_atc := case when v_tries is not null then v_atc end;
    end if;
  end if;
  p_known.contact_atc := greatest(p_known.contact_atc, (p_chip ->> 'contactAtc')::integer);
  p_known.seen_atcs := add_seen_atc(p_known.highest_atc, p_known.seen_atcs, v_atc);
  p_known.highest_atc := greatest(p_known.highest_atc, v_atc);
  return p_known;
end
$function$;
