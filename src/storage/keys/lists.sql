-- Lists of keys by kind.

-- name: list_hsm_keys_after
select key_name as "keyName", key_version as "keyVersion", state, key_block as "keyBlock",
  key_check_value as "keyCheckValue", created_at as "createdAt", activates_at as "activatesAt",
  activated_at as "activatedAt", retired_at as "retiredAt", uses::float8 as "uses",
  state = 'active' and not exists (
    select 1
    from hsm_key newer
    where newer.key_name = listed.key_name and newer.key_version > listed.key_version
      and newer.state = 'active'
  ) as "current"
from hsm_key listed
where (key_name, key_version) > (:keyName, :keyVersion)
order by key_name, key_version
limit :limit;

-- name: list_zone_master_keys_after
select key_name as "keyName", key_block as "keyBlock", key_check_value as "keyCheckValue",
  created_at as "createdAt", retired_at as "retiredAt"
from zone_master_key
where key_name > :keyName
order by key_name
limit :limit;

-- name: list_zone_keys_after
select client_id as "clientId", key_name as "keyName", algorithm,
  pin_block_formats as "pinBlockFormats", key_block as "keyBlock",
  key_check_value as "keyCheckValue", created_at as "createdAt", retired_at as "retiredAt"
from zone_key
where (client_id, key_name) > (:clientId, :keyName)
order by client_id, key_name
limit :limit;

-- name: list_newest_zone_keys
select client_id as "clientId", key_name as "keyName", algorithm,
  pin_block_formats as "pinBlockFormats", key_block as "keyBlock",
  key_check_value as "keyCheckValue", created_at as "createdAt", retired_at as "retiredAt"
from (
  select zone_key.*, row_number() over (
    partition by client_id
    order by retired_at is not null, created_at desc, key_name
  ) as place
  from zone_key
  where client_id = any (:clientIds::text[])
) ranked
where place <= :limit
order by client_id, key_name;
