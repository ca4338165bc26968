-- Entries of the audit log.

-- name: append_audit_entries
select append_audit_entries(
  p_log => :log,
  p_first_index => :firstIndex,
  p_entry_ids => :entryIds,
  p_client_ids => :clientIds,
  p_public_tokens => :publicTokens,
  p_acts => :acts,
  p_texts => :texts,
  p_by_operator => :operatorMarks,
  p_commitments => :commitments,
  p_salts => :salts,
  p_levels => :levels,
  p_tile_indexes => :tileIndexes,
  p_hashes => :hashes
);

-- name: list_audit_entries
select log, entry_index::float8 as "index", entry_id as "entryId", client_id as "clientId",
  public_token as "publicToken", act, by_operator as "isByOperator", commitment, salt, text
from audit_entry
where log = :log and entry_index >= :firstIndex::bigint
order by entry_index
limit :limit;

-- name: find_audit_entry
select log, entry_index::float8 as "index", entry_id as "entryId", client_id as "clientId",
  public_token as "publicToken", act, by_operator as "isByOperator", commitment, salt, text
from audit_entry
where log = any(:logs::integer[]) and entry_id = :entryId::uuid
order by log desc
limit 1;

-- name: find_audit_entry_age
select (extract(epoch from clock_timestamp() - entered_at) * 1000)::float8 as "ageMs"
from audit_entry
where log = :log and entry_index = :index::bigint;
