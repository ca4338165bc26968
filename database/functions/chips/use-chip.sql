-- Records the use of a chip that lock_chip has locked and found fresh: its transaction counter, the
-- version of its keys, and what it reported of its PIN tries. A cryptogram is used in the commit
-- that records its authorization, so that of racing copies one is answered. A counter below the
-- highest one belongs to an older report, which changes neither the keys nor the tries.
-- contactAtc is the counter if the chip was read by its contacts, otherwise null.
-- Without a panSequenceNumber it is the use of a contactless stripe.
--
-- remainingOfflineTries is null if the PIN in the chip is not blocked and the chip reports no
-- number: what was known before, such as a block, is then out of date. It is absent if the message
-- says nothing of the PIN.
--
-- Distributed by p_public_token, beside card.
create or replace function use_chip(p_public_token text, p_chip jsonb) returns void
language plpgsql
as $function$
declare
  v_atc integer := (p_chip ->> 'atc')::integer;
  v_tries integer := (p_chip ->> 'remainingOfflineTries')::integer;
  v_has_tries boolean := p_chip ? 'remainingOfflineTries';
  -- Citus rejects clock functions in an update.
  v_now timestamptz := clock_timestamp();
begin
  if p_chip ->> 'panSequenceNumber' is null then
    perform use_stripe(p_public_token, v_atc);
    return;
  end if;
  update chip
  set highest_atc = greatest(chip.highest_atc, v_atc),
    seen_atcs = add_seen_atc(chip.highest_atc, chip.seen_atcs, v_atc),
    contact_atc = greatest(chip.contact_atc, (p_chip ->> 'contactAtc')::integer),
    key_version = case
      when v_atc < chip.highest_atc then chip.key_version
      else (p_chip ->> 'keyVersion')::integer
    end,
    remaining_offline_tries = case
      when v_has_tries and v_atc >= chip.highest_atc then v_tries
      else chip.remaining_offline_tries
    end,
    offline_tries_at = case
      when not v_has_tries or v_atc < chip.highest_atc then chip.offline_tries_at
      when v_tries is not null then v_now
    end,
    offline_tries_atc = case
      when not v_has_tries or v_atc < chip.highest_atc then chip.offline_tries_atc
      when v_tries is not null then v_atc
    end
  where chip.public_token = p_public_token
    and chip.pan_sequence_number = p_chip ->> 'panSequenceNumber';
end
$function$;
