-- Keys that are entered in components by several people, and the components so far.

-- name: insert_component_entry
insert into component_entry (target, algorithm, length_bytes, component_count, key_check_value,
  opened_by, expires_at)
values (:target, :algorithm, :lengthBytes, :componentCount, :keyCheckValue, :openedBy,
  now() + make_interval(secs => :seconds))
returning entry_id as "entryId", target, algorithm, length_bytes as "lengthBytes",
  component_count as "componentCount", key_check_value as "keyCheckValue",
  opened_by as "openedBy", expires_at as "expiresAt";

-- name: lock_component_entry
select entry_id as "entryId", target, algorithm, length_bytes as "lengthBytes",
  component_count as "componentCount", key_check_value as "keyCheckValue",
  opened_by as "openedBy", expires_at as "expiresAt"
from component_entry
where entry_id = :entryId and expires_at > now()
for update;

-- name: find_component_entry
select entry_id as "entryId", target, algorithm, length_bytes as "lengthBytes",
  component_count as "componentCount", key_check_value as "keyCheckValue",
  opened_by as "openedBy", expires_at as "expiresAt"
from component_entry
where entry_id = :entryId and expires_at > now();

-- The position keeps the microseconds that a JavaScript date would lose.
-- name: list_component_entries
select entry_id as "entryId", target, algorithm, length_bytes as "lengthBytes",
  component_count as "componentCount", key_check_value as "keyCheckValue",
  opened_by as "openedBy", expires_at as "expiresAt",
  to_char(expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "expiresAtExactly"
from component_entry
where expires_at > now() and (expires_at, entry_id) > (:at::timestamptz, :entryId::uuid)
order by expires_at, entry_id
limit :limit;

-- name: delete_component_entry
delete from component_entry
where entry_id = :entryId;

-- name: forget_component_entries
delete from component_entry
where expires_at <= now()
returning entry_id as "entryId", target;

-- name: insert_key_component
insert into key_component (entry_id, component_number, person, client_id, controlled_by, key_block,
  key_check_value)
values (:entryId, :componentNumber, :person, :clientId, :controlledBy, :keyBlock, :keyCheckValue);

-- name: list_key_components
select entry_id as "entryId", component_number as "componentNumber", person,
  client_id as "clientId", controlled_by as "controlledBy", key_block as "keyBlock",
  key_check_value as "keyCheckValue"
from key_component
where entry_id = any (:entryIds::uuid[])
order by entry_id, component_number;

-- name: find_installation_kind
select kind
from installation;
