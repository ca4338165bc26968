-- Reads the card of a stripe or of a 3-D Secure payment before an authorization: the keys of its
-- values, its counters, and whether the network guesses at them.
--
-- The card is named by p_public_token or by the fingerprints of its PAN, one for each version of
-- their key. Returns no row if the card does not exist. expiry is YYMM. pan_sequence_number and
-- key_version are those of the newest chip that was seen; null if none was. highest_atc is the
-- highest counter of all chips and stripes of the card; 0 if none was seen. A value is guessed if
-- the network sent p_mistakes wrong ones within p_window microseconds.
--
-- Distributed by p_public_token, beside card.
create or replace function find_stripe(
  p_public_token text,
  p_pan_fingerprints bytea[],
  p_network_id text,
  p_mistakes integer,
  p_window bigint
) returns table (
  public_token text,
  encrypted_pan bytea,
  cvk text,
  card_type text,
  expiry text,
  chip jsonb,
  pan_sequence_number text,
  key_version integer,
  highest_atc integer,
  is_card_value_guessed boolean,
  is_cavv_guessed boolean
)
language plpgsql
stable
as $function$
#variable_conflict use_column
declare
  v_public_token text := p_public_token;
  v_stripe_atc integer;
  v_since bigint := extract(epoch from clock_timestamp()) * 1000000 - p_window;
begin
  if v_public_token is null then
    select known.public_token into v_public_token
    from pan_fingerprint as known
    where known.pan_fingerprint = any (p_pan_fingerprints)
    limit 1;
  end if;
  select card.public_token, card.encrypted_pan, card.cvk, card.card_type,
    to_char(card.expiry_date, 'YYMM'), product.chip
  into public_token, encrypted_pan, cvk, card_type, expiry, chip
  from card
  -- The limit keeps the planner from beginning with the cards of the product.
  cross join lateral (
    select product.chip
    from product
    where product.product_id = card.product_id
    limit 1
  ) as product
  where card.public_token = v_public_token;
  if public_token is null then
    return;
  end if;
  select seen.pan_sequence_number, seen.key_version into pan_sequence_number, key_version
  from chip as seen
  where seen.public_token = v_public_token
  order by seen.pan_sequence_number desc
  limit 1;
  select max(seen.highest_atc) into highest_atc
  from chip as seen
  where seen.public_token = v_public_token;
  select stripe.highest_atc into v_stripe_atc
  from stripe_counter as stripe
  where stripe.public_token = v_public_token;
  highest_atc := greatest(highest_atc, v_stripe_atc, 0);
  select coalesce(bool_or(wrong.kind = 'card_value'), false),
    coalesce(bool_or(wrong.kind = 'cavv'), false)
  into is_card_value_guessed, is_cavv_guessed
  from wrong_expiry as wrong
  where wrong.public_token = v_public_token and wrong.client_id = p_network_id
    and wrong.kind in ('card_value', 'cavv') and wrong.given_at[p_mistakes] > v_since;
  return next;
end
$function$;
