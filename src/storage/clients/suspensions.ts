import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

const updateSuspension = declare<{ clientId: string }>('follow_delivery_suspension')

/**
 * Stops the clock of a client's deliveries, or lets it go on, where a change of the client asks for
 * it.
 */
export const followSuspension = async (connection: Connection, clientId: string): Promise<void> => {
  await updateSuspension(connection, { clientId })
}

/** Deliveries that wait for their client to be enabled again. */
interface SuspendedDeliveries {
  readonly clientId: string
  readonly suspendedAt: Date | null
  readonly waiting: number
}

const selectSuspended = declare<{ limit: number }, SuspendedDeliveries>('list_suspended_deliveries')

/** Clients with deliveries that are suspended, by their ids. */
export const listSuspendedDeliveries = (
  connection: Connection,
  limit: number,
): Promise<SuspendedDeliveries[]> => selectSuspended(connection, { limit })
