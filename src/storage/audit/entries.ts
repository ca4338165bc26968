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

// Each column as one text, with a line for each entry, and all hashes as one value: arrays of a thousand would be quoted
// by the driver, value by value, and cost more than all else. No value has a line break; an empty line is null.
const lines = (parameter: string): string => `string_to_array(${parameter}, E'\\n', '')`
const ofOrdinal = (parameter: string): string =>
  `substring(${parameter}::bytea from 32 * ordinal::integer - 31 for 32)`

const insertStatement = statement(
  'insert_audit_entries',
  `insert into audit_entry (log, entry_index, entry_id, client_id, public_token, act, text, commitment, salt)
   select $1, $2::bigint + ordinal - 1, entry_id, client_id, public_token, act, text, ${ofOrdinal('$8')},
     case when text is not null then ${ofOrdinal('$9')} end
   from unnest(${lines('$3')}::uuid[], ${lines('$4')}, ${lines('$5')}, ${lines('$6')}, ${lines('$7')})
     with ordinality as given (entry_id, client_id, public_token, act, text, ordinal)`,
)

const noSalt = new Uint8Array(32)

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
    entries.map(({ entryId }) => entryId).join('\n'),
    entries.map(({ clientId }) => clientId ?? '').join('\n'),
    entries.map(({ publicToken }) => publicToken ?? '').join('\n'),
    entries.map(({ act }) => act).join('\n'),
    entries.map(({ text }) => text ?? '').join('\n'),
    Buffer.concat(entries.map(({ commitment }) => commitment)),
    Buffer.concat(entries.map(({ salt }) => salt ?? noSalt)),
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
