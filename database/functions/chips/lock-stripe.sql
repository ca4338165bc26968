-- Locks the counter of the contactless stripes of a card, and returns whether p_atc was not used
-- before: neither by a stripe, nor by a chip of the card with any PAN sequence number. Stripes and
-- chips of an earlier expiry do not count: their values differ, and the card declines them. The
-- first stripe of a card gets its row here, so that racing copies wait for each other. The row
-- changes nothing until use_stripe, but begins again with a later expiry.
--
-- Lock order: card, stripe, counter, key. The chips are read without a lock: a cryptogram and a
-- stripe with the same counter cannot come from one chip.
--
-- Distributed by p_public_token, beside card.
create or replace function lock_stripe(
  p_public_token text,
  p_atc integer,
  p_window integer
) returns boolean
language plpgsql
as $function$
declare
  v_known stripe_counter;
  v_expiry_date date;
begin
  select card.expiry_date into v_expiry_date
  from card
  where card.public_token = p_public_token;
  select * into v_known
  from stripe_counter
  where stripe_counter.public_token = p_public_token
  for no key update;
  if not found then
    insert into stripe_counter (public_token, highest_atc, seen_atcs, expiry_date)
    values (p_public_token, 0, 0, v_expiry_date)
    on conflict (public_token) do nothing;
    select * into v_known
    from stripe_counter
    where stripe_counter.public_token = p_public_token
    for no key update;
  end if;
  if v_known.expiry_date < v_expiry_date then
    update stripe_counter
    set highest_atc = 0, seen_atcs = 0, expiry_date = v_expiry_date
    where stripe_counter.public_token = p_public_token
    returning * into v_known;
  end if;
  return is_fresh_atc(v_known.highest_atc, v_known.seen_atcs, p_atc, p_window)
    and not exists (
      select
      from chip
      where chip.public_token = p_public_token
        and (chip.expiry_date < v_expiry_date) is not true
        and not is_fresh_atc(chip.highest_atc, chip.seen_atcs, p_atc, p_window)
    );
end
$function$;
