-- Records the use of a contactless stripe that lock_stripe has locked and found fresh. The counters
-- of the chips stay as they are.
--
-- Distributed by p_public_token, beside card.
create or replace function use_stripe(p_public_token text, p_atc integer) returns void
language plpgsql
as $function$
begin
  update stripe_counter
  set highest_atc = greatest(stripe_counter.highest_atc, p_atc),
    seen_atcs = add_seen_atc(stripe_counter.highest_atc, stripe_counter.seen_atcs, p_atc)
  where stripe_counter.public_token = p_public_token;
end
$function$;
