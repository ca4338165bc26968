-- Virtual chips of a sandbox.

-- name: find_card_of_chip
select card.public_token as "publicToken", card.client_id as "clientId",
  card.card_type as "cardType", card.encrypted_pan as "encryptedPan",
  product.pin_length as "pinLength", product.pin_try_limit as "pinTryLimit",
  product.currency_code as "currencyCode", product.chip::text as "chip",
  card.plastic_number as "plasticNumber"
from card
join product on product.product_id = card.product_id
where card.public_token = :publicToken;

-- The newest version of which the keys that virtual chips use exist.
-- name: find_newest_chip_keys
select key_version as "keyVersion"
from hsm_key
where key_name in ('chip-ac', 'chip-smc', 'chip-smi') and state = 'active'
group by key_version
having count(*) = 3
order by key_version desc
limit 1;

-- name: find_virtual_chip
select state_id::text as "stateId", pan_sequence_number as "panSequenceNumber",
  key_version as "keyVersion", derivation_key_index as "derivationKeyIndex", atc,
  offline_try_limit as "offlineTryLimit", remaining_offline_tries as "remainingOfflineTries",
  pin_block as "pinBlock", pvv,
  pin_key as "pinKey", is_application_blocked as "isApplicationBlocked",
  is_card_blocked as "isCardBlocked", cryptogram_data as "cryptogramData",
  unpredictable_number as "unpredictableNumber", cryptogram,
  is_online_incomplete as "isOnlineIncomplete",
  command_results as "commandResults", counted_commands as "countedCommands",
  data_objects::text as "dataObjects"
from virtual_chip
where public_token = :publicToken;

-- A new chip has the PIN that the card has now, and replaces the one before.
-- name: make_virtual_chip
insert into virtual_chip (
  public_token, state_id, pan_sequence_number, key_version, derivation_key_index, offline_try_limit,
  remaining_offline_tries, pin_block, pvv, pin_key
)
select public_token, :stateId::uuid, :panSequenceNumber, :keyVersion::integer,
  :derivationKeyIndex::integer,
  :offlineTryLimit::integer, :offlineTryLimit::integer, pin_block, pvv, pin_key
from card
where public_token = :publicToken
on conflict (public_token) do update
set state_id = excluded.state_id, pan_sequence_number = excluded.pan_sequence_number,
  key_version = excluded.key_version, derivation_key_index = excluded.derivation_key_index, atc = 0,
  offline_try_limit = excluded.offline_try_limit,
  remaining_offline_tries = excluded.remaining_offline_tries, pin_block = excluded.pin_block,
  pvv = excluded.pvv, pin_key = excluded.pin_key, is_application_blocked = false,
  is_card_blocked = false, cryptogram_data = null, unpredictable_number = null,
  cryptogram = null, is_online_incomplete = false, command_results = '',
  counted_commands = 0, data_objects = '{}';

-- Changes nothing if the chip has another state by now.
-- name: change_virtual_chip
update virtual_chip
set state_id = :nextStateId::uuid, atc = :atc, remaining_offline_tries = :remainingOfflineTries,
  pin_block = :pinBlock, pvv = :pvv, pin_key = :pinKey,
  is_application_blocked = :isApplicationBlocked, is_card_blocked = :isCardBlocked,
  cryptogram_data = :cryptogramData, unpredictable_number = :unpredictableNumber,
  cryptogram = :cryptogram, is_online_incomplete = :isOnlineIncomplete,
  command_results = :commandResults, counted_commands = :countedCommands,
  data_objects = :dataObjects::text::jsonb
where public_token = :publicToken and state_id = :stateId::uuid
returning public_token as "publicToken";

-- name: list_pins_of_virtual_chips
select virtual_chip.public_token as "publicToken", card.encrypted_pan as "encryptedPan",
  virtual_chip.pin_block as "pinBlock", virtual_chip.pin_key as "pinKey"
from virtual_chip
join card on card.public_token = virtual_chip.public_token
where virtual_chip.public_token > :afterToken and virtual_chip.pin_block is not null
order by virtual_chip.public_token
limit :limit;

-- name: list_pvvs_of_virtual_chips
select public_token as "publicToken", pin_key as "pinKey"
from virtual_chip
where public_token > :afterToken and pvv is not null
order by public_token
limit :limit;

-- A transaction that began before it must not store the former PIN block again.
-- name: move_pin_of_virtual_chip
update virtual_chip
set state_id = :nextStateId::uuid, pin_block = :newPinBlock, pin_key = :newPinKey
where public_token = :publicToken and pin_block = :pinBlock and pin_key = :pinKey
returning public_token as "publicToken";
