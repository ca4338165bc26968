-- The card of chip data, a stripe or a 3-D Secure value, before an authorization
-- (database/functions/chips/find-chip.sql).

-- name: find_chip
select found.public_token as "publicToken", found.encrypted_pan as "encryptedPan", found.cvk,
  found.card_type as "cardType", found.expiry, found.plastic_number as "plasticNumber",
  found.last_plastic_number as "lastPlasticNumber", found.chip::text as "chip",
  found.newest_number as "newestPanSequenceNumber",
  found.newest_key_version as "newestKeyVersion", found.highest_atc as "highestAtc",
  found.contact_atc as "contactAtc",
  found.is_fresh as "isFresh", found.commands::text as "commands",
  found.highest_card_atc as "highestCardAtc",
  found.is_card_value_guessed as "isCardValueGuessed", found.is_cavv_guessed as "isCavvGuessed"
from find_chip(
  p_public_token => :publicToken,
  p_pan_fingerprints => string_to_array(:panFingerprints, ',')::bytea[],
  p_pan_sequence_number => :panSequenceNumber,
  p_atc => :atc,
  p_network_id => :networkId,
  p_mistakes => :mistakes,
  p_window => :windowLength
) as found;

-- The counters of stripes and the wrong values are read only for callers with a network.
-- name: find_chip_several
select asked.ordinal::integer as "ordinal", card.public_token as "publicToken",
  card.encrypted_pan as "encryptedPan", card.cvk, card.card_type as "cardType",
  to_char(card.expiry_date, 'YYMM') as "expiry", card.plastic_number as "plasticNumber",
  card.last_plastic_number as "lastPlasticNumber", product.chip::text as "chip",
  seen.newest_number as "newestPanSequenceNumber",
  case
    when asked.network_id is not null then (
      select chip.key_version
      from chip
      where chip.public_token = any(array[asked.public_token])
        and chip.pan_sequence_number = seen.newest_number
    )
  end as "newestKeyVersion",
  seen.highest_atc as "highestAtc",
  seen.contact_atc as "contactAtc",
  is_fresh_atc(
    seen.highest_atc, seen.seen_atcs, asked.atc, (product.chip ->> 'atcWindow')::integer
  ) as "isFresh",
  waiting.commands::text as "commands",
  case
    when asked.network_id is null then 0
    else greatest(
      seen.highest_card_atc,
      (
        select max(stripe.highest_atc)
        from stripe_counter as stripe
        where stripe.public_token = any(array[asked.public_token])
          and stripe.expiry_date >= card.expiry_date
      ),
      0
    )
  end as "highestCardAtc",
  case
    when asked.network_id is null then false
    else exists (
      select
      from card_mistake as wrong
      where wrong.public_token = any(array[asked.public_token])
        and wrong.client_id = asked.network_id and wrong.kind = 'card_value'
        and wrong.given_at[asked.mistakes] > asked.since
    )
  end as "isCardValueGuessed",
  case
    when asked.network_id is null then false
    else exists (
      select
      from card_mistake as wrong
      where wrong.public_token = any(array[asked.public_token])
        and wrong.client_id = asked.network_id and wrong.kind = 'cavv'
        and wrong.given_at[asked.mistakes] > asked.since
    )
  end as "isCavvGuessed"
from (
  select caller.*,
    extract(epoch from clock_timestamp()) * 1000000 - caller.window_length as since,
    coalesce(caller.given_token, (
      select known.public_token
      from pan_fingerprint as known
      where known.pan_fingerprint = any(string_to_array(caller.pan_fingerprints, ',')::bytea[])
      limit 1
    )) as public_token
  from unnest(
    :publicTokens::text[], :panFingerprints::text[], :panSequenceNumbers::text[], :atcs::integer[],
    :networkIds::text[], :mistakes::integer[], :windowLengths::bigint[]
  ) with ordinality as caller (
    given_token, pan_fingerprints, pan_sequence_number, atc, network_id, mistakes, window_length,
    ordinal
  )
) as asked
cross join lateral (
  select card.public_token, card.encrypted_pan, card.cvk, card.card_type, card.expiry_date,
    card.plastic_number, card.last_plastic_number, card.product_id
  from card
  where card.public_token = any(array[asked.public_token])
  limit 1
) as card
cross join lateral (
  select product.chip
  from product
  where product.product_id = any(array[card.product_id])
  limit 1
) as product
-- One scan of the chips of the card, of which there are few.
cross join lateral (
  select max(chip.pan_sequence_number) as newest_number,
    max(chip.highest_atc) filter (
      where (chip.expiry_date < card.expiry_date) is not true
    ) as highest_card_atc,
    max(chip.highest_atc) filter (
      where chip.pan_sequence_number = asked.pan_sequence_number
    ) as highest_atc,
    max(chip.seen_atcs) filter (
      where chip.pan_sequence_number = asked.pan_sequence_number
    ) as seen_atcs,
    max(chip.contact_atc) filter (
      where chip.pan_sequence_number = asked.pan_sequence_number
    ) as contact_atc
  from chip
  where chip.public_token = any(array[asked.public_token])
) as seen
cross join lateral (
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
    ) as commands
  from chip_command as command
  where command.public_token = any(array[asked.public_token])
    and command.state in ('pending', 'sent') and asked.pan_sequence_number is not null
) as waiting;
