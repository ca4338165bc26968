-- The key blocks under the master key in every table, and the zone master keys.

-- The keys of the installation have names; in each other table, all keys have the same purpose.
-- name: list_key_blocks_hsm_key
select key_block as "keyBlock", key_name as "purpose"
from hsm_key
for update;

-- name: list_key_blocks_zone_key
select key_block as "keyBlock", 'zone' as "purpose"
from zone_key
for update;

-- name: list_key_blocks_zone_master_key
select key_block as "keyBlock", 'zone-master' as "purpose"
from zone_master_key
for update;

-- name: list_key_blocks_key_component
select key_block as "keyBlock", 'component' as "purpose"
from key_component
for update;

-- name: is_key_block_kept
select exists (select 1 from hsm_key where key_block = :keyBlock)
  or exists (select 1 from zone_key where key_block = :keyBlock)
  or exists (select 1 from zone_master_key where key_block = :keyBlock) as "isKept";

-- name: move_key_block_hsm_key
update hsm_key
set key_block = :after
where key_block = :before
returning 1 as one;

-- name: move_key_block_zone_key
update zone_key
set key_block = :after
where key_block = :before
returning 1 as one;

-- name: move_key_block_zone_master_key
update zone_master_key
set key_block = :after
where key_block = :before
returning 1 as one;

-- name: move_key_block_key_component
update key_component
set key_block = :after
where key_block = :before
returning 1 as one;

-- name: find_zone_master_key
select key_name as "keyName", key_block as "keyBlock", key_check_value as "keyCheckValue",
  created_at as "createdAt", retired_at as "retiredAt"
from zone_master_key
where key_name = :keyName and retired_at is null;

-- name: insert_zone_master_key
insert into zone_master_key (key_name, key_block, key_check_value)
values (:keyName, :keyBlock, :keyCheckValue)
on conflict (key_name) do nothing
returning key_name as "keyName";

-- name: retire_zone_master_key
update zone_master_key
set retired_at = now()
where key_name = :keyName and retired_at is null
returning key_name as "keyName";
