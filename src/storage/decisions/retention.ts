import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

const deleteDecisions = declare<{ days: number; limit: number }, { count: number }>(
  'delete_old_decisions',
)

/**
 * Deletes some of the decisions that are older than a number of days.
 * @returns their number.
 */
export const expireDecisions = async (
  connection: Connection,
  days: number,
  limit: number,
): Promise<number> => firstRow(await deleteDecisions(connection, { days, limit }))?.count ?? 0
