import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** An entry that requests an erasure, or that names erased entries. */
export interface ErasureEntryRow {
  readonly index: number
  readonly entryId: string
  readonly act: 'erasure.requested' | 'entries.erased'
  readonly text: string
}

const selectErasures = declare<{ log: number; from: number; end: number }, ErasureEntryRow>(
  'list_audit_erasure_entries',
)

/** Lists the erasures that a range of entries names. */
export const listErasureEntries = (
  connection: Connection,
  log: number,
  [from, end]: readonly [number, number],
): Promise<ErasureEntryRow[]> => selectErasures(connection, { log, from, end })

const selectBlank = declare<
  { log: number; from: number; end: number; limit: number },
  { index: number }
>('list_blank_audit_entries')

/** Lists the entries of a range that have no text. */
export const listBlankEntries = (
  connection: Connection,
  log: number,
  [from, end]: readonly [number, number],
  limit: number,
): Promise<{ index: number }[]> => selectBlank(connection, { log, from, end, limit })
