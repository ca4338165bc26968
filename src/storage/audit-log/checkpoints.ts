import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** A signed checkpoint. */
export interface CheckpointRow {
  readonly size: number
  readonly root: Uint8Array
  /** The signed note with its cosignatures. */
  readonly note: string
  readonly signedAt: Date
  /** By the database's clock. */
  readonly ageMs: number
}

const selectNewest = declare<{ log: number }, CheckpointRow>('find_newest_audit_checkpoint')

/** Returns the newest checkpoint of a log; null before its first. */
export const findNewestCheckpoint = async (
  connection: Connection,
  log: number,
): Promise<CheckpointRow | null> => firstRow(await selectNewest(connection, { log }))

type NewCheckpoint = Pick<CheckpointRow, 'note' | 'root' | 'size'>

const record = declare<NewCheckpoint & { log: number }>('record_checkpoint')

export const insertCheckpoint = async (
  connection: Connection,
  log: number,
  checkpoint: NewCheckpoint,
): Promise<void> => {
  await record(connection, { ...checkpoint, log })
}

const deleteOld = declare<object>('delete_old_checkpoints')

/** Deletes checkpoints that are older than a day, except the last of each hour. */
export const thinCheckpoints = async (connection: Connection): Promise<void> => {
  await deleteOld(connection, {})
}
