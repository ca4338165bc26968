-- Zone keys, with which card networks encipher PIN blocks.

-- name: insert_zone_key
insert into zone_key
  (client_id, key_name, algorithm, pin_block_formats, key_block, key_check_value)
values (:clientId, :keyName, :algorithm, :pinBlockFormats, :keyBlock, :keyCheckValue)
on conflict (client_id, key_name) do nothing
returning key_name as "keyName";

-- name: has_zone_key
select key_name as "keyName"
from zone_key
where client_id = :clientId and key_name = :keyName;

-- name: list_zone_keys
select client_id as "clientId", key_name as "keyName", algorithm,
  pin_block_formats as "pinBlockFormats", key_block as "keyBlock",
  key_check_value as "keyCheckValue", created_at as "createdAt", retired_at as "retiredAt"
from zone_key
where client_id = :clientId
order by key_name;

-- name: retire_zone_key
update zone_key
set retired_at = now()
where client_id = :clientId and key_name = :keyName and retired_at is null
returning key_name as "keyName";

-- name: find_zone_key
select client_id as "clientId", key_name as "keyName", algorithm,
  pin_block_formats as "pinBlockFormats", key_block as "keyBlock",
  key_check_value as "keyCheckValue"
from zone_key
where client_id = :clientId and key_name = :keyName and retired_at is null;
