-- The chip of a card before an authorization (database/functions/chips/find-chip.sql).

-- name: find_chip
select found.public_token as "publicToken", found.encrypted_pan as "encryptedPan",
  found.chip::text as "chip", found.highest_atc as "highestAtc",
  found.newest_number as "newestPanSequenceNumber", found.is_fresh as "isFresh",
  found.commands::text as "commands"
from find_chip(
  p_public_token => :publicToken,
  p_pan_fingerprints => string_to_array(:panFingerprints, ',')::bytea[],
  p_pan_sequence_number => :panSequenceNumber,
  p_atc => :atc
) as found;

-- name: find_chip_several
select asked.ordinal::integer as "ordinal", card.public_token as "publicToken",
  card.encrypted_pan as "encryptedPan",
  case when card.card_type = 'Physical' then product.chip::text end as "chip",
  seen.highest_atc as "highestAtc", newest.number as "newestPanSequenceNumber",
  is_fresh_atc(
    seen.highest_atc, seen.seen_atcs, asked.atc, (product.chip ->> 'atcWindow')::integer
  ) as "isFresh",
  waiting.commands::text as "commands"
from (
  select caller.*, coalesce(caller.given_token, (
      select known.public_token
      from pan_fingerprint as known
      where known.pan_fingerprint = any(string_to_array(caller.pan_fingerprints, ',')::bytea[])
      limit 1
    )) as public_token
  from unnest(
    :publicTokens::text[], :panFingerprints::text[], :panSequenceNumbers::text[], :atcs::integer[]
  ) with ordinality as caller (
    given_token, pan_fingerprints, pan_sequence_number, atc, ordinal
  )
) as asked
cross join lateral (
  select card.public_token, card.encrypted_pan, card.card_type, card.product_id
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
left join lateral (
  select chip.highest_atc, chip.seen_atcs
  from chip
  where chip.public_token = any(array[asked.public_token])
    and chip.pan_sequence_number = asked.pan_sequence_number
  limit 1
) as seen on true
cross join lateral (
  select max(chip.pan_sequence_number) as number
  from chip
  where chip.public_token = any(array[asked.public_token])
) as newest
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
        'sentAtc', command.sent_atc,
        'sentWith', command.sent_with
      )
      order by command.command_number
    ) as commands
  from chip_command as command
  where command.public_token = any(array[asked.public_token])
    and command.state in ('pending', 'sent')
) as waiting;
