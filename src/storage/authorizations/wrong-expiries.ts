import type { PublicToken } from '../../domain/identifiers.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** Who gave a wrong expiry, of which card. */
export interface WrongExpiry {
  readonly publicToken: PublicToken
  /** The network client. */
  readonly networkId: string
}

const declare = loadStatements(import.meta.url)

const deleteExpiries = declare<{ limit: number }, { count: number }>('delete_old_wrong_expiries')

/** Deletes some of the rows in which nothing counts any more. @returns how many. */
export const pruneWrongExpiries = async (connection: Connection, limit: number): Promise<number> =>
  firstRow(await deleteExpiries(connection, { limit }))?.count ?? 0
