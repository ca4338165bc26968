-- Reads the card of chip data, a stripe or a 3-D Secure value before an authorization: how its chip
-- works, which transaction counters were seen, the commands that wait, and whether the network
-- guesses at its values.
--
-- The card is named by p_public_token or by the fingerprints of its PAN, one for each version of
-- their key. Returns no row if the card does not exist. chip is null if its product has no chip.
-- expiry is YYMM. newest_number is the highest sequence number that was seen.
--
-- p_pan_sequence_number and p_atc are null without chip data. Otherwise highest_atc is that of this
-- chip, null if it was not seen before, and contact_atc that of a transaction by its contacts;
-- is_fresh says whether p_atc was not used before; and commands are those that have not ended.
--
-- p_network_id is null without a stripe or a 3-D Secure value. Otherwise newest_key_version is that
-- of the newest chip, null if none was seen, and highest_card_atc is the highest counter of all
-- chips and stripes of the card with its present expiry, 0 if none was seen. A value is guessed if
-- the network sent p_mistakes wrong ones within p_window microseconds.
--
-- Distributed by p_public_token, beside card.
create or replace function find_chip(
  p_public_token text,
  p_pan_fingerprints bytea[],
  p_pan_sequence_number text,
  p_atc integer,
  p_network_id text,
  p_mistakes integer,
  p_window bigint
) returns table (
  public_token text,
  encrypted_pan bytea,
  cvk text,
  card_type text,
  expiry text,
  plastic_number integer,
  last_plastic_number integer,
  chip jsonb,
  newest_number text,
  newest_key_version integer,
  highest_atc integer,
  contact_atc integer,
  is_fresh boolean,
  commands json,
  highest_card_atc integer,
  is_card_value_guessed boolean,
  is_cavv_guessed boolean
)
language plpgsql
stable
as $function$
#variable_conflict use_column
declare
  v_public_token text := p_public_token;
  v_seen_atcs bigint;
  v_stripe_atc integer;
  v_expiry_date date;
  v_since bigint := extract(epoch from clock_timestamp()) * 1000000 - p_window;
begin
  if v_public_token is null then
    select known.public_token into v_public_token
    from pan_fingerprint as known
    where known.pan_fingerprint = any (p_pan_fingerprints)
    limit 1;
  end if;
  select card.public_token, card.encrypted_pan, card.cvk, card.card_type,
    to_char(card.expiry_date, 'YYMM'), card.plastic_number, card.last_plastic_number,
    product.chip, card.expiry_date
  into public_token, encrypted_pan, cvk, card_type, expiry, plastic_number, last_plastic_number,
    chip, v_expiry_date
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
  select max(seen.pan_sequence_number) into newest_number
  from chip as seen
  where seen.public_token = v_public_token;
  is_fresh := true;
  if p_pan_sequence_number is not null then
    select seen.highest_atc, seen.seen_atcs, seen.contact_atc
    into highest_atc, v_seen_atcs, contact_atc
    from chip as seen
    where seen.public_token = v_public_token and seen.pan_sequence_number = p_pan_sequence_number;
    -- The row was inserted for a lock, and its transaction did not use the chip.
    if v_seen_atcs = 0 then
      highest_atc := null;
    end if;
    is_fresh := is_fresh_atc(
      highest_atc, v_seen_atcs, p_atc, (chip ->> 'atcWindow')::integer
    );
    select json_agg(
        json_build_object(
          'number', command.command_number,
          'command', command.command,
          'pinBlock', encode(command.pin_block, 'hex'),
          'pinKey', command.pin_key,
          'dataObject', encode(command.data_object, 'hex'),
          'panSequenceNumber', command.pan_sequence_number,
          'sentCount', command.sent_count,
          'sentTo', command.sent_to,
          'sentAtc', command.sent_atc
        )
        order by command.command_number
      )
    into commands
    from chip_command as command
    where command.public_token = v_public_token and command.state in ('pending', 'sent');
  end if;
  highest_card_atc := 0;
  is_card_value_guessed := false;
  is_cavv_guessed := false;
  if p_network_id is not null then
    select seen.key_version into newest_key_version
    from chip as seen
    where seen.public_token = v_public_token and seen.pan_sequence_number = newest_number;
    select max(seen.highest_atc) into highest_card_atc
    from chip as seen
    where seen.public_token = v_public_token
      and (seen.expiry_date < v_expiry_date) is not true;
    select stripe.highest_atc into v_stripe_atc
    from stripe_counter as stripe
    where stripe.public_token = v_public_token and stripe.expiry_date >= v_expiry_date;
    highest_card_atc := greatest(highest_card_atc, v_stripe_atc, 0);
    select coalesce(bool_or(wrong.kind = 'card_value'), false),
      coalesce(bool_or(wrong.kind = 'cavv'), false)
    into is_card_value_guessed, is_cavv_guessed
    from card_mistake as wrong
    where wrong.public_token = v_public_token and wrong.client_id = p_network_id
      and wrong.kind in ('card_value', 'cavv') and wrong.given_at[p_mistakes] > v_since;
  end if;
  return next;
end
$function$;
