import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** A snapshot of a sandbox. */
export interface SnapshotRow {
  readonly snapshotName: string
  readonly takenAt: Date
  /** The instant that the sandbox's clock showed; null if the clock was never moved. */
  readonly clock: Date | null
  /** The number of its rows. */
  readonly rows: number
}

/** The result of a restore. */
type RestoreOutcome = 'restored' | 'missing' | 'other_keys' | 'other_schema'

const declare = loadStatements(import.meta.url)

const take = declare<{ snapshotName: string; clock: Date | null }, { rows: number }>(
  'take_snapshot',
)

/** Takes a snapshot, and replaces one of the same name. */
export const insertSnapshot = async (
  connection: Connection,
  snapshotName: string,
  clock: Date | null,
): Promise<void> => {
  await take(connection, { snapshotName, clock })
}

const restore = declare<{ snapshotName: string }, { outcome: string }>('restore_snapshot')

/** Restores every table of a snapshot. */
export const restoreRows = async (
  connection: Connection,
  snapshotName: string,
): Promise<RestoreOutcome> => {
  const row = firstRow(await restore(connection, { snapshotName }))
  if (!row) throw new Error('The restore of a snapshot returned no outcome.')
  return row.outcome as RestoreOutcome
}

const deleteOne = declare<{ snapshotName: string }, { isDeleted: boolean }>('delete_snapshot')

/** Deletes a snapshot. @returns whether there was one. */
export const deleteSnapshot = async (
  connection: Connection,
  snapshotName: string,
): Promise<boolean> => firstRow(await deleteOne(connection, { snapshotName }))?.isDeleted ?? false

const selectPage = declare<{ after: string; limit: number }, SnapshotRow>('list_snapshots')

/** Lists the snapshots after a name, by name. */
export const listSnapshots = (
  connection: Connection,
  after: string,
  limit: number,
): Promise<SnapshotRow[]> => selectPage(connection, { after, limit })

const selectOne = declare<{ snapshotName: string }, SnapshotRow>('find_snapshot')

export const findSnapshot = async (
  connection: Connection,
  snapshotName: string,
): Promise<SnapshotRow | null> => firstRow(await selectOne(connection, { snapshotName }))

const selectPending = declare<object, { isPending: boolean }>('has_acts_outside_log')

/** Whether an event or a try is not in the audit log yet. */
export const hasActsOutsideLog = async (connection: Connection): Promise<boolean> =>
  firstRow(await selectPending(connection, {}))?.isPending ?? false
