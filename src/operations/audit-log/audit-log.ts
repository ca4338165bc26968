import { randomUUID } from 'node:crypto'
import { appendHashes, listTreeTiles, type TileReader } from '../../../packages/audit/tiles.ts'
import { encodeEntry, leafHash } from '../../../packages/audit/tree.ts'
import type { AuditEntry } from '../../domain/audit-entry.ts'
import type { Hsm } from '../../hsm/contract/hsm.ts'
import type { CheckpointFile } from '../../storage/audit-log/checkpoint-file.ts'
import { insertEntries, type NewEntry } from '../../storage/audit-log/entries.ts'
import {
  type AuditLogRow,
  beginAuditLog,
  countOlderCards,
  findAuditLog,
  findTile,
  listTiles,
} from '../../storage/audit-log/log.ts'
import type { Connection, Database } from '../../storage/engine/database.ts'
import { commitEntries } from './commit-entries.ts'
import type { Witnesses } from './witnesses.ts'

/** The dependencies of the operations on the audit log. */
export interface AuditLogContext {
  readonly database: Database
  readonly hsm: Hsm
  /** The origin in the checkpoints of the first log. The origins of successors begin with it. */
  readonly origin: string
  /** Whether checkpoints are signed with ML-DSA-44, too. */
  readonly withMlDsa: boolean
  /** This machine's record of checkpoints, outside the database. */
  readonly outside: CheckpointFile
  /** The reason that this process found against signing the log; null if it found none. */
  readonly found: { refusal: string | null }
  /** Null if checkpoints are not cosigned. */
  readonly witnesses: Witnesses | null
}

/** Returns the current log. The first call creates it. */
export async function openAuditLog({
  database,
  origin,
}: Pick<AuditLogContext, 'database' | 'origin'>): Promise<AuditLogRow> {
  const known = await findAuditLog(database)
  if (known) return known
  await database.transaction((connection) => beginFirst(connection, origin))
  const begun = await findAuditLog(database)
  if (!begun) throw new Error('No audit log has begun.')
  return begun
}

/**
 * Creates the first log. If cards exist whose first events can never be entered, it records their
 * number.
 */
async function beginFirst(connection: Connection, origin: string): Promise<void> {
  const log = { log: 1, origin, predecessorCheckpoint: null, reason: null }
  if (!(await beginAuditLog(connection, log))) return
  const olderCards = await countOlderCards(connection)
  if (olderCards === 0) return
  const first: AuditEntry = {
    entry: randomUUID(),
    at: new Date().toISOString().replace('Z', '000Z'),
    act: 'log.began',
    subject: origin,
    outcome: 'done',
    details: { olderCards },
  }
  await appendEntries(connection, { log: 1, size: 0 }, commitEntries([first]))
}

/** Creates a reader of the tiles of a log. */
export const createTileReader =
  (connection: Connection, log: number): TileReader =>
  async (level, index) => {
    const hashes = await findTile(connection, log, { level, index })
    if (!hashes) throw new RangeError(`The log has no tile ${index} of level ${level}.`)
    return hashes
  }

/**
 * Appends entries to the log, in the transaction that has locked it.
 * @returns the new size.
 */
export async function appendEntries(
  connection: Connection,
  { log, size }: Pick<AuditLogRow, 'log' | 'size'>,
  entries: readonly NewEntry[],
): Promise<number> {
  const levels = listTreeTiles(size)
  const asked = levels.flatMap(({ full, level, partial }) =>
    partial > 0 ? [{ level, index: full }] : [],
  )
  const tiles = asked.length > 0 ? await listTiles(connection, log, asked) : []
  const edge = levels.map(
    ({ level }) => tiles.find((tile) => tile.level === level)?.hashes ?? new Uint8Array(),
  )
  const leaves = entries.map(({ commitment }) => leafHash(encodeEntry(commitment)))
  await insertEntries(connection, log, size, entries, appendHashes(size, edge, leaves))
  return size + entries.length
}
