-- The columns of cards that are encrypted under the installation's keys, and the fingerprints of
-- cards.

-- name: list_cards_under_keys
select public_token as "publicToken", encrypted_pan as "encryptedPan",
  personal_data as "personalData", pin_block as "pinBlock", pin_key as "pinKey", cvk
from card
where public_token > :afterToken
order by public_token
limit :limit;

-- The card of each chip has a subquery of its own, so that no plan reads more cards than chips.
-- name: list_chips_under_keys
select public_token as "publicToken", pan_sequence_number as "panSequenceNumber",
  key_version as "keyVersion",
  (
    select expiry_date
    from card
    where card.public_token = chip.public_token and expiry_date >= current_date
  ) as "expiryDate"
from chip
where (public_token, pan_sequence_number) > (:publicToken, :panSequenceNumber)
order by public_token, pan_sequence_number
limit :limit;

-- Some cards, with the expiry of those whose chip needs a version of the keys: a chip used it, or
-- none was used yet, and the card was created before a newer version was in use. The second
-- condition on the token keeps a plan from reading all chips for a page, and the first is what a
-- cluster needs.
-- name: list_needs_of_chip_keys
select public_token as "publicToken",
  exists (
    select
    from chip
    where chip.public_token = card.public_token
      and chip.public_token = any(array[card.public_token]) and chip.key_version = :keyVersion
  ) as "isUsed",
  case
    when expiry_date >= current_date and (
      exists (
        select
        from chip
        where chip.public_token = card.public_token
          and chip.public_token = any(array[card.public_token]) and chip.key_version = :keyVersion
      )
      or card_type = 'Physical' and created_at <= :createdBefore::timestamptz
      and (
        select product.chip is not null
        from product
        where product.product_id = card.product_id
      )
      and not exists (
        select
        from chip
        where chip.public_token = card.public_token
          and chip.public_token = any(array[card.public_token])
      )
    )
    then expiry_date
  end as "expiryDate"
from card
where public_token > :afterToken
order by public_token
limit :limit;

-- name: move_pan
update card
set encrypted_pan = :after
where public_token = :publicToken and encrypted_pan = :before
returning public_token as "publicToken";

-- name: move_personal_data
update card
set personal_data = :after
where public_token = :publicToken and personal_data = :before
returning public_token as "publicToken";

-- name: move_pin
update card
set pin_block = :newPinBlock, pin_key = :newPinKey
where public_token = :publicToken and pin_block = :pinBlock and pin_key = :pinKey
returning public_token as "publicToken";

-- With an equality, the order by would have no effect, and the list might come from any index. The
-- list is materialized and joined row by row, so that no plan reads more than its rows.
-- name: forget_pan_fingerprints
with old as materialized (
  select pan_fingerprint
  from pan_fingerprint
  where key_version >= (select :keyVersion::integer)
    and key_version <= (select :keyVersion::integer)
  order by key_version
  limit :limit
)
delete from pan_fingerprint
using old
where pan_fingerprint.pan_fingerprint = any(array[old.pan_fingerprint])
  and abs(key_version - :keyVersion) <= 0
  and exists (
    select 1
    from hsm_key
    where key_name = 'pan-fingerprint' and key_version = :keyVersion
      and retired_at <= now() - make_interval(secs => :settleSeconds)
  )
returning public_token as "publicToken";

-- name: count_pan_fingerprints
select public_token as "publicToken"
from pan_fingerprint
where key_version = :keyVersion
limit 1;

-- name: add_pan_fingerprint
insert into pan_fingerprint (pan_fingerprint, public_token, key_version)
values (:fingerprint, :publicToken, :keyVersion)
on conflict (pan_fingerprint) do nothing
returning public_token as "publicToken";

-- The card of each command has a subquery of its own, as that of a chip.
-- name: list_pins_of_chip_commands
select public_token as "publicToken", command_number as "number", pin_block as "pinBlock",
  pin_key as "pinKey",
  (
    select encrypted_pan
    from card
    where card.public_token = chip_command.public_token
  ) as "encryptedPan"
from chip_command
where (public_token, command_number) > (:publicToken, :number) and pin_block is not null
order by public_token, command_number
limit :limit;

-- name: move_pin_of_chip_command
update chip_command
set pin_block = :newPinBlock, pin_key = :newPinKey
where public_token = :publicToken and command_number = :number and pin_block = :pinBlock
  and pin_key = :pinKey
returning command_number as "number";
