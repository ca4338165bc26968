import { type Connection, firstRow, statement } from '../engine/database.ts'

/** An entry that is made now. */
export interface NewEntry {
  readonly entryId: string
  readonly clientId: string | null
  readonly publicToken: string | null
  readonly act: string
  readonly commitment: Uint8Array
  readonly salt: Uint8Array | null
  readonly text: string | null
}

const insertStatement = statement(
  'insert_audit_entries',
  `insert into audit_entry (log, entry_index, entry_id, client_id, public_token, act, commitment, salt, text)
   select $1, $2::bigint + ordinal - 1, entry_id, client_id, public_token, act, commitment, salt, text
   from unnest($3::uuid[], $4::text[], $5::text[], $6::text[], $7::bytea[], $8::bytea[], $9::text[])
     with ordinality as given (entry_id, client_id, public_token, act, commitment, salt, text, ordinal)`,
)

/** Appends entries, from an index on. */
export async function insertEntries(
  connection: Connection,
  log: number,
  firstIndex: number,
  entries: readonly NewEntry[],
): Promise<void> {
  await connection.query(insertStatement, [
    log,
    firstIndex,
    entries.map(({ entryId }) => entryId),
    entries.map(({ clientId }) => clientId),
    entries.map(({ publicToken }) => publicToken),
    entries.map(({ act }) => act),
    entries.map(({ commitment }) => commitment),
    entries.map(({ salt }) => salt),
    entries.map(({ text }) => text),
  ])
}

/** An entry and where it stands. Once it is erased it has neither salt nor text. */
interface EntryRow extends NewEntry {
  readonly log: number
  readonly index: number
}

const columns = `log, entry_index::float8 as "index", entry_id as "entryId", client_id as "clientId",
  public_token as "publicToken", act, commitment, salt, text`

const listStatement = statement(
  'list_audit_entries',
  `select ${columns} from audit_entry where log = $1 and entry_index >= $2::bigint
   order by entry_index limit $3`,
)

/** Entries from an index on, in their order. */
export const listAuditEntries = (
  connection: Connection,
  log: number,
  firstIndex: number,
  limit: number,
): Promise<EntryRow[]> => connection.query(listStatement, [log, firstIndex, limit])

const findStatement = statement(
  'find_audit_entry',
  `select ${columns} from audit_entry where log = any($1::integer[]) and entry_id = $2::uuid
   order by log desc limit 1`,
)

/** The entry of an id, in the newest of these logs that has it. */
export const findAuditEntry = async (
  connection: Connection,
  logs: readonly number[],
  entryId: string,
): Promise<EntryRow | null> =>
  firstRow(await connection.query<EntryRow>(findStatement, [logs, entryId]))

const ageStatement = statement(
  'find_audit_entry_age',
  `select (extract(epoch from clock_timestamp() - entered_at) * 1000)::float8 as "ageMs"
   from audit_entry where log = $1 and entry_index = $2::bigint`,
)

/** For how long an entry has been in the log, by the database's clock; 0 where it is not there. */
export const findEntryAgeMs = async (
  connection: Connection,
  log: number,
  index: number,
): Promise<number> => {
  const rows = await connection.query<{ readonly ageMs: number }>(ageStatement, [log, index])
  return firstRow(rows)?.ageMs ?? 0
}
