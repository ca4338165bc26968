-- The versions of the installation's keys.

-- name: list_hsm_keys
select key_name as "keyName", key_version as "keyVersion", state, key_block as "keyBlock",
  key_check_value as "keyCheckValue", created_at as "createdAt", activates_at as "activatesAt",
  activated_at as "activatedAt", retired_at as "retiredAt", uses::float8 as "uses"
from hsm_key
order by key_name, key_version;

-- name: find_hsm_key
select key_name as "keyName", key_version as "keyVersion", state, key_block as "keyBlock",
  key_check_value as "keyCheckValue", created_at as "createdAt", activates_at as "activatesAt",
  activated_at as "activatedAt", retired_at as "retiredAt", uses::float8 as "uses"
from hsm_key
where key_name = :keyName and key_version = :keyVersion;

-- name: insert_hsm_key
insert into hsm_key (key_name, key_version, state, key_block, key_check_value, activated_at)
values (:keyName, :keyVersion, :state, :keyBlock, :keyCheckValue,
  case when :state = 'active' then clock_timestamp() end)
on conflict (key_name, key_version) do nothing
returning key_name as "keyName";

-- name: add_hsm_key_uses
update hsm_key
set uses = greatest(uses + :uses::bigint, 0)
where key_name = :keyName and key_version = :keyVersion;

-- name: schedule_hsm_key
with due as materialized (
  select greatest(now(), created_at + make_interval(secs => :pendingSeconds)) as at
  from hsm_key
  where key_name = :keyName and key_version = :keyVersion
)
update hsm_key
set activates_at = due.at
from due
where key_name = :keyName and key_version = :keyVersion and state = 'pending'
  and activates_at is null
returning key_name as "keyName";

-- name: has_due_hsm_keys
select key_name as "keyName"
from hsm_key
where state = 'pending' and activates_at <= now()
limit 1;

-- name: activate_due_hsm_keys
update hsm_key
set state = 'active', activated_at = now()
where state = 'pending' and activates_at <= now()
returning key_name as "keyName", key_version as "keyVersion";

-- name: retire_older_hsm_keys
update hsm_key
set state = 'retired', retired_at = now()
where key_name = :keyName and key_version < :keyVersion and state = 'active'
returning key_name as "keyName", key_version as "keyVersion";

-- name: may_retire_hsm_key
select key_name as "keyName"
from hsm_key
where key_name = :keyName and key_version = :keyVersion and state = 'active' and exists (
  select 1
  from hsm_key newer
  where newer.key_name = :keyName and newer.key_version > :keyVersion
    and newer.state = 'active'
    and newer.activated_at <= now() - make_interval(secs => :settleSeconds)
);

-- name: retire_hsm_key
update hsm_key
set state = 'retired', retired_at = now()
where key_name = :keyName and key_version = :keyVersion and state = 'active' and exists (
  select 1
  from hsm_key newer
  where newer.key_name = :keyName and newer.key_version > :keyVersion
    and newer.state = 'active'
    and newer.activated_at <= now() - make_interval(secs => :settleSeconds)
)
returning key_name as "keyName";

-- name: delete_hsm_key
delete from hsm_key
where key_name = :keyName and key_version = :keyVersion
  and (
    state = 'retired' and retired_at <= now() - make_interval(secs => :settleSeconds)
    or state = 'pending' and activates_at is null and exists (
      select 1
      from hsm_key other
      where other.key_name = :keyName and other.state = 'active'
    )
  )
returning key_name as "keyName";

-- name: retire_outlived_hsm_keys
update hsm_key
set state = 'retired', retired_at = now()
where key_name = :keyName and key_version < :keyVersion and state = 'active'
  and exists (
    select 1
    from hsm_key newest
    where newest.key_name = :keyName and newest.key_version = :keyVersion
      and newest.activated_at < now() - make_interval(secs => :seconds)
  )
returning key_name as "keyName", key_version as "keyVersion";

-- A program from before numbers existed may have added a version without a number.
-- name: take_key_number
insert into hsm_key_number (key_name, last_version)
select :keyName, 1 + coalesce(max(key_version), 0)
from hsm_key
where key_name = :keyName
on conflict (key_name) do update
set last_version = greatest(hsm_key_number.last_version + 1, excluded.last_version)
returning last_version as "keyVersion";

-- name: list_key_numbers
select key_name as "keyName", last_version as "lastVersion"
from hsm_key_number;
