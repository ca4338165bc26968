-- Locks the chip that made a cryptogram, and returns whether its transaction counter was not used
-- before. A chip that is seen for the first time gets its row here, so that racing copies of its
-- first cryptogram wait for each other. The row has the lowest counter, because the transaction can
-- end without a use of the chip.
--
-- p_chip has panSequenceNumber, atc, keyVersion, atcWindow and remainingOfflineTries
-- (src/operations/chips/presented-chip.ts). Without a panSequenceNumber it is the use of a
-- contactless stripe, which locks the counter of the card's stripes (lock_stripe). Lock order:
-- card, chip, counter, key.
--
-- Distributed by p_public_token, beside card.
create or replace function lock_chip(p_public_token text, p_chip jsonb) returns boolean
language plpgsql
as $function$
declare
  v_number text := p_chip ->> 'panSequenceNumber';
  v_atc integer := (p_chip ->> 'atc')::integer;
  v_known chip;
  v_expiry_date date;
begin
  if v_number is null then
    return lock_stripe(p_public_token, v_atc, (p_chip ->> 'atcWindow')::integer);
  end if;
  select * into v_known
  from chip
  where chip.public_token = p_public_token and chip.pan_sequence_number = v_number
  for no key update;
  if not found then
    select card.expiry_date into v_expiry_date
    from card
    where card.public_token = p_public_token;
    insert into chip (
      public_token, pan_sequence_number, highest_atc, seen_atcs, expiry_date, key_version
    )
    values (
      p_public_token, v_number, 0, 0, v_expiry_date, (p_chip ->> 'keyVersion')::integer
    )
    on conflict (public_token, pan_sequence_number) do nothing;
    select * into v_known
    from chip
    where chip.public_token = p_public_token and chip.pan_sequence_number = v_number
    for no key update;
  end if;
  return is_fresh_atc(
    v_known.highest_atc, v_known.seen_atcs, v_atc, (p_chip ->> 'atcWindow')::integer
  );
end
$function$;
