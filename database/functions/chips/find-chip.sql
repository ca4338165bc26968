-- Reads the chip of a card before an authorization: how it works, which transaction counters were
-- seen, and the commands that wait.
--
-- The card is named by p_public_token or by the fingerprints of its PAN, one for each version of
-- their key. Returns no row if the card does not exist. chip is null for a card without a chip, and
-- highest_atc for one that was not seen before. newest_number is the highest sequence number of the
-- card's chips. is_fresh says whether p_atc was not used before.
--
-- Distributed by p_public_token, beside card.
create or replace function find_chip(
  p_public_token text,
  p_pan_fingerprints bytea[],
  p_pan_sequence_number text,
  p_atc integer
) returns table (
  public_token text,
  encrypted_pan bytea,
  chip jsonb,
  highest_atc integer,
  newest_number text,
  is_fresh boolean,
  commands json
)
language plpgsql
stable
as $function$
#variable_conflict use_column
declare
  v_public_token text := p_public_token;
  v_seen_atcs bigint;
begin
  if v_public_token is null then
    select known.public_token into v_public_token
    from pan_fingerprint as known
    where known.pan_fingerprint = any (p_pan_fingerprints)
    limit 1;
  end if;
  select card.public_token, card.encrypted_pan,
    case when card.card_type = 'Physical' then product.chip end
  into public_token, encrypted_pan, chip
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
  select seen.highest_atc, seen.seen_atcs into highest_atc, v_seen_atcs
  from chip as seen
  where seen.public_token = v_public_token and seen.pan_sequence_number = p_pan_sequence_number;
  select max(seen.pan_sequence_number) into newest_number
  from chip as seen
  where seen.public_token = v_public_token;
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
        'sentAtc', command.sent_atc,
        'sentWith', command.sent_with
      )
      order by command.command_number
    )
  into commands
  from chip_command as command
  where command.public_token = v_public_token and command.state in ('pending', 'sent');
  return next;
end
$function$;
