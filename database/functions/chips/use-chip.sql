-- Records the use of a chip (advance_chip) that lock_chip has locked and found fresh. A cryptogram
-- is used in the commit that records its authorization, so that of racing copies one is answered.
-- Without a panSequenceNumber it is the use of a contactless stripe.
--
-- Distributed by p_public_token, beside card.
create or replace function use_chip(p_public_token text, p_chip jsonb) returns void
language plpgsql
as $function$
declare
  v_chip chip;
begin
  if p_chip ->> 'panSequenceNumber' is null then
    perform use_stripe(p_public_token, (p_chip ->> 'atc')::integer);
    return;
  end if;
  select * into v_chip
  from chip
  where chip.public_token = p_public_token
    and chip.pan_sequence_number = p_chip ->> 'panSequenceNumber';
  v_chip := advance_chip(v_chip, p_chip, clock_timestamp());
  update chip
  set highest_atc = v_chip.highest_atc,
    seen_atcs = v_chip.seen_atcs,
    contact_atc = v_chip.contact_atc,
    key_version = v_chip.key_version,
    remaining_offline_tries = v_chip.remaining_offline_tries,
    offline_tries_at = v_chip.offline_tries_at,
    offline_tries_atc = v_chip.offline_tries_atc
  where chip.public_token = p_public_token
    and chip.pan_sequence_number = v_chip.pan_sequence_number;
end
$function$;
