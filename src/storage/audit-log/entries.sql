-- Entries of the audit log.

-- Each column is one text, with a line for each entry, and all hashes are one value: arrays of a
-- thousand would be quoted by the driver, value by value, and cost more than all else. No value
-- has a line break; an empty line is null.
-- name: insert_audit_entries
insert into audit_entry (log, entry_index, entry_id, client_id, public_token, act, text, commitment,
  salt)
select :log, :firstIndex::bigint + ordinal - 1, entry_id, client_id, public_token, act, text,
  substring(:commitments::bytea from 32 * ordinal::integer - 31 for 32),
  case when text is not null then
    substring(:salts::bytea from 32 * ordinal::integer - 31 for 32) end
from unnest(string_to_array(:entryIds, E'\n', '')::uuid[], string_to_array(:clientIds, E'\n', ''),
  string_to_array(:publicTokens, E'\n', ''), string_to_array(:acts, E'\n', ''),
  string_to_array(:texts, E'\n', ''))
  with ordinality as given (entry_id, client_id, public_token, act, text, ordinal);

-- name: list_audit_entries
select log, entry_index::float8 as "index", entry_id as "entryId", client_id as "clientId",
  public_token as "publicToken", act, commitment, salt, text
from audit_entry
where log = :log and entry_index >= :firstIndex::bigint
order by entry_index
limit :limit;

-- name: find_audit_entry
select log, entry_index::float8 as "index", entry_id as "entryId", client_id as "clientId",
  public_token as "publicToken", act, commitment, salt, text
from audit_entry
where log = any(:logs::integer[]) and entry_id = :entryId::uuid
order by log desc
limit 1;

-- name: find_audit_entry_age
select (extract(epoch from clock_timestamp() - entered_at) * 1000)::float8 as "ageMs"
from audit_entry
where log = :log and entry_index = :index::bigint;
