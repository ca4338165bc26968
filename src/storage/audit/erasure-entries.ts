import { type Connection, statement } from '../engine/database.ts'

/** An entry that asks for an erasure, or that names what is erased. */
export interface ErasureEntryRow {
  readonly index: number
  readonly entryId: string
  readonly act: 'erasure.requested' | 'entries.erased'
  readonly text: string
}

const entriesStatement = statement(
  'list_audit_erasure_entries',
  `select entry_index::float8 as "index", entry_id as "entryId", act, text
   from audit_entry
   where log = $1 and entry_index >= $2::bigint and entry_index < $3::bigint and text is not null
     and act in ('erasure.requested', 'entries.erased')
   order by entry_index`,
)

/** What entries from one index to before another say of erasures. */
export const listErasureEntries = (
  connection: Connection,
  log: number,
  [from, end]: readonly [number, number],
): Promise<ErasureEntryRow[]> => connection.query(entriesStatement, [log, from, end])

const blankStatement = statement(
  'list_blank_audit_entries',
  `select entry_index::float8 as "index" from audit_entry
   where log = $1 and entry_index >= $2::bigint and entry_index < $3::bigint and text is null
   order by entry_index limit $4`,
)

/** Entries from one index to before another that say nothing. */
export const listBlankEntries = (
  connection: Connection,
  log: number,
  [from, end]: readonly [number, number],
  limit: number,
): Promise<{ index: number }[]> => connection.query(blankStatement, [log, from, end, limit])
