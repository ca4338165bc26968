-- The tries of a card, in the form of the reads in cards.sql. For the PIN of a card with a chip,
-- also the known state of the PIN in its chip: the newest command that changes or unblocks it, and
-- the last report of its tries. A command that waits comes before one that has ended, so that
-- nothing that is due is hidden. A change of the PIN that did not succeed comes first until another
-- change, because an unblock brings no new PIN into the chip. The chip of a replacement has a
-- higher sequence number.

-- name: find_tries
select try_counter.try_limit as "limit", try_counter.spent as "spent",
  try_counter.restored as "restored", try_counter.is_withdrawn as "isWithdrawn",
  case when product.has_chip then coalesce(command.state, 'none') end as "chipUpdate",
  chip.remaining_offline_tries as "remainingOfflineTries",
  chip.offline_tries_at as "offlineTriesAt"
from (
  select *
  from card
  where public_token = any(array[:publicToken])
  limit 1
) as card
cross join lateral (
  select *
  from try_counter
  where public_token = any(array[:publicToken]) and kind = :kind
  limit 1
) as try_counter
left join lateral (
  select true as has_chip
  from product
  where try_counter.kind = 'pin' and card.card_type = 'Physical'
    and product.product_id = any(array[card.product_id]) and product.chip is not null
  limit 1
) as product on true
left join lateral (
  select newest.state
  from (
    select command_number, command, state
    from chip_command
    where product.has_chip and public_token = any(array[:publicToken])
      and command in ('change_pin', 'unblock_pin') and state <> 'superseded'
    order by public_token desc, command_number desc
    limit 50
  ) as newest
  order by coalesce(
      newest.state in ('failed', 'unconfirmed')
        and newest.command_number = max(newest.command_number)
          filter (where newest.command = 'change_pin') over (),
      false
    ) desc,
    newest.state in ('pending', 'sent') desc, newest.command_number desc
  limit 1
) as command on true
left join lateral (
  select remaining_offline_tries, offline_tries_at
  from chip
  where product.has_chip and public_token = any(array[:publicToken])
  order by public_token desc, pan_sequence_number desc
  limit 1
) as chip on true
where card.client_id = :clientId;

-- name: find_tries_several
select asked.ordinal::integer as "ordinal", found.*
from unnest(:publicTokens::text[], :kinds::text[], :clientIds::text[])
  with ordinality as asked (public_token, kind, client_id, ordinal)
cross join lateral (
  select try_counter.try_limit as "limit", try_counter.spent as "spent",
    try_counter.restored as "restored", try_counter.is_withdrawn as "isWithdrawn",
    case when product.has_chip then coalesce(command.state, 'none') end as "chipUpdate",
    chip.remaining_offline_tries as "remainingOfflineTries",
    chip.offline_tries_at as "offlineTriesAt"
  from (
    select *
    from card
    where public_token = any(array[asked.public_token])
    limit 1
  ) as card
  cross join lateral (
    select *
    from try_counter
    where public_token = any(array[asked.public_token]) and kind = asked.kind
    limit 1
  ) as try_counter
  left join lateral (
    select true as has_chip
    from product
    where try_counter.kind = 'pin' and card.card_type = 'Physical'
      and product.product_id = any(array[card.product_id]) and product.chip is not null
    limit 1
  ) as product on true
  left join lateral (
    select newest.state
    from (
      select command_number, command, state
      from chip_command
      where product.has_chip and public_token = any(array[asked.public_token])
        and command in ('change_pin', 'unblock_pin') and state <> 'superseded'
      order by public_token desc, command_number desc
      limit 50
    ) as newest
    order by coalesce(
        newest.state in ('failed', 'unconfirmed')
          and newest.command_number = max(newest.command_number)
            filter (where newest.command = 'change_pin') over (),
        false
      ) desc,
      newest.state in ('pending', 'sent') desc, newest.command_number desc
    limit 1
  ) as command on true
  left join lateral (
    select remaining_offline_tries, offline_tries_at
    from chip
    where product.has_chip and public_token = any(array[asked.public_token])
    order by public_token desc, pan_sequence_number desc
    limit 1
  ) as chip on true
  where card.client_id = asked.client_id
  limit 1
) as found;
