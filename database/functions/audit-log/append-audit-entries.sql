-- Appends entries to an audit log, with the hashes that its tree has with them.
--
-- The first entry takes the index after the last: the log must be open and have the size
-- p_first_index. Existing entries do not change. A tile of hashes only grows: its new hashes begin
-- with the old ones.
--
-- Ids, clients, tokens, acts, texts and marks of operators are one text each, with a line for each
-- entry. Arrays of a thousand would be quoted by the driver, value by value, and cost more than
-- everything else. No value has a line break, and an empty line is null. Commitments and salts are
-- 32 bytes for each entry.
create or replace function append_audit_entries(
  p_log integer,
  p_first_index bigint,
  p_entry_ids text,
  p_client_ids text,
  p_public_tokens text,
  p_acts text,
  p_texts text,
  p_by_operator text,
  p_commitments bytea,
  p_salts bytea,
  p_levels smallint[],
  p_tile_indexes bigint[],
  p_hashes bytea[]
) returns void
language plpgsql
as $function$
declare
  v_count bigint := length(p_commitments) / 32;
  v_tiles bigint;
begin
  update audit_log
  set size = size + v_count
  where log = p_log and size = p_first_index and closed_at is null;
  if not found then
    raise exception 'Audit log % is not open at entry %.', p_log, p_first_index;
  end if;
  insert into audit_entry (
    log, entry_index, entry_id, client_id, public_token, act, text, by_operator, commitment, salt
  )
  select p_log, p_first_index + ordinal - 1, entry_id, client_id, public_token, act, text,
    operator_mark is not null,
    substring(p_commitments from 32 * ordinal::integer - 31 for 32),
    case when text is not null then
      substring(p_salts from 32 * ordinal::integer - 31 for 32)
    end
  from unnest(
    string_to_array(p_entry_ids, E'\n', '')::uuid[],
    string_to_array(p_client_ids, E'\n', ''),
    string_to_array(p_public_tokens, E'\n', ''),
    string_to_array(p_acts, E'\n', ''),
    string_to_array(p_texts, E'\n', ''),
    string_to_array(p_by_operator, E'\n', '')
  ) with ordinality
    as given (entry_id, client_id, public_token, act, text, operator_mark, ordinal);
  insert into audit_tile (log, level, tile_index, hashes)
  select p_log, level, tile_index, hashes
  from unnest(p_levels, p_tile_indexes, p_hashes) as given (level, tile_index, hashes)
  on conflict (log, level, tile_index) do update
  set hashes = excluded.hashes
  where substring(excluded.hashes from 1 for length(audit_tile.hashes)) = audit_tile.hashes;
  get diagnostics v_tiles = row_count;
  if v_tiles <> cardinality(p_levels) then
    raise exception 'A tile of audit log % has other hashes than were written.', p_log;
  end if;
end
$function$;
