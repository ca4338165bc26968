import type { Connection } from './database.ts'
import { loadStatements } from './statements.ts'

const declare = loadStatements(import.meta.url)

const upsertLease = declare<{ leaseName: string; holder: string; seconds: number }>('claim_lease')

/**
 * Takes a free lease, or renews the caller's own, for a number of seconds, the same for all
 * callers. A lease only saves work: its holder may lose it early.
 * @returns whether the caller has it.
 */
export const claimLease = async (
  connection: Connection,
  leaseName: string,
  holder: string,
  seconds: number,
): Promise<boolean> => (await upsertLease(connection, { leaseName, holder, seconds })).length === 1

const deleteLease = declare<{ leaseName: string; holder: string }>('release_lease')

/** Releases a lease, so that another process can have it at once. */
export const releaseLease = async (
  connection: Connection,
  leaseName: string,
  holder: string,
): Promise<void> => {
  await deleteLease(connection, { leaseName, holder })
}

const deleteLeases = declare<object>('free_leases')
const deleteStreams = declare<object>('free_streams')
const freeQueues = declare<object>('free_delivery_queues')

/** Releases all leases of earlier processes. Only for a process that is alone on the database. */
export async function freeEveryLease(connection: Connection): Promise<void> {
  await deleteLeases(connection, {})
  await deleteStreams(connection, {})
  await freeQueues(connection, {})
}

const selectHeldLease = declare<{ leaseName: string }>('is_lease_held')

/** Whether any process has a lease. */
export const isLeaseHeld = async (connection: Connection, leaseName: string): Promise<boolean> =>
  (await selectHeldLease(connection, { leaseName })).length === 1
