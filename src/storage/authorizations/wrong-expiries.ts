import type { PublicToken } from '../../domain/identifiers.ts'
import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** Who gave a wrong expiry, of which card. */
export interface WrongExpiry {
  readonly publicToken: PublicToken
  /** The network client. */
  readonly networkId: string
}

const declare = loadStatements(import.meta.url)

const dayMs = 86_400_000

const deleteExpiries = declare<{ day: number; limit: number }>('prune_wrong_expiries')

/** Forgets some of the rows in which nothing counted at an instant any more. @returns how many. */
export const pruneWrongExpiries = async (
  connection: Connection,
  at: Date,
  limit: number,
): Promise<number> => {
  const day = Math.floor(at.getTime() / dayMs)
  return (await deleteExpiries(connection, { day, limit })).length
}
