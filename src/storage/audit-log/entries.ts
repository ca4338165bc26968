import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import type { TileRow } from './log.ts'

const declare = loadStatements(import.meta.url)

/** A new entry. */
export interface NewEntry {
  readonly entryId: string
  readonly clientId: string | null
  readonly publicToken: string | null
  readonly act: string
  /** Whether an operator or an administrator acted. */
  readonly isByOperator: boolean
  readonly commitment: Uint8Array
  readonly salt: Uint8Array | null
  readonly text: string | null
}

const append = declare<{
  log: number
  firstIndex: number
  entryIds: string
  clientIds: string
  publicTokens: string
  acts: string
  texts: string
  operatorMarks: string
  commitments: Uint8Array
  salts: Uint8Array
  levels: readonly number[]
  tileIndexes: readonly number[]
  hashes: readonly Uint8Array[]
}>('append_audit_entries')

const noSalt = new Uint8Array(32)

/** Appends entries at an index, with the tiles that the tree has after them. */
export async function insertEntries(
  connection: Connection,
  log: number,
  firstIndex: number,
  entries: readonly NewEntry[],
  tiles: readonly TileRow[],
): Promise<void> {
  await append(connection, {
    log,
    firstIndex,
    entryIds: entries.map(({ entryId }) => entryId).join('\n'),
    clientIds: entries.map(({ clientId }) => clientId ?? '').join('\n'),
    publicTokens: entries.map(({ publicToken }) => publicToken ?? '').join('\n'),
    acts: entries.map(({ act }) => act).join('\n'),
    texts: entries.map(({ text }) => text ?? '').join('\n'),
    operatorMarks: entries.map(({ isByOperator }) => (isByOperator ? 'x' : '')).join('\n'),
    commitments: Buffer.concat(entries.map(({ commitment }) => commitment)),
    salts: Buffer.concat(entries.map(({ salt }) => salt ?? noSalt)),
    levels: tiles.map(({ level }) => level),
    tileIndexes: tiles.map(({ index }) => index),
    hashes: tiles.map(({ hashes }) => hashes),
  })
}

/** An entry with its position. An erased entry has neither salt nor text. */
interface EntryRow extends NewEntry {
  readonly log: number
  readonly index: number
}

const selectEntries = declare<{ log: number; firstIndex: number; limit: number }, EntryRow>(
  'list_audit_entries',
)

/** Lists entries from an index on, in order. */
export const listAuditEntries = (
  connection: Connection,
  log: number,
  firstIndex: number,
  limit: number,
): Promise<EntryRow[]> => selectEntries(connection, { log, firstIndex, limit })

const selectEntry = declare<{ logs: readonly number[]; entryId: string }, EntryRow>(
  'find_audit_entry',
)

/** Finds an entry by its id in the newest of these logs that has it. */
export const findAuditEntry = async (
  connection: Connection,
  logs: readonly number[],
  entryId: string,
): Promise<EntryRow | null> => firstRow(await selectEntry(connection, { logs, entryId }))

const selectAge = declare<{ log: number; index: number }, { ageMs: number }>('find_audit_entry_age')

/** Returns how long an entry has been in the log, by the database's clock; 0 if it is not there. */
export const findEntryAgeMs = async (
  connection: Connection,
  log: number,
  index: number,
): Promise<number> => firstRow(await selectAge(connection, { log, index }))?.ageMs ?? 0
