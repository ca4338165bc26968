import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

const updateSuspension = declare<{ clientId: string }>('follow_delivery_suspension')

/** Stops or restarts the clock of a client's deliveries after a change of the client. */
export const followSuspension = async (connection: Connection, clientId: string): Promise<void> => {
  await updateSuspension(connection, { clientId })
}

/** Deliveries that wait until their client is enabled again. */
interface SuspendedDeliveries {
  readonly clientId: string
  readonly suspendedAt: Date | null
  readonly waiting: number
}

const selectSuspended = declare<{ limit: number }, SuspendedDeliveries>('list_suspended_deliveries')

/** Lists clients with suspended deliveries, by id. */
export const listSuspendedDeliveries = (
  connection: Connection,
  limit: number,
): Promise<SuspendedDeliveries[]> => selectSuspended(connection, { limit })
