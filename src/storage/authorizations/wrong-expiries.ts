import type { PublicToken } from '../../domain/identifiers.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** What was wrong. None of them costs a try, so all are watched. */
export type MistakeKind = 'expiry' | 'cryptogram' | 'card_value' | 'cavv'

/** A mistake that a network sent for a card. */
export interface Mistake {
  readonly publicToken: PublicToken
  /** The network client. */
  readonly networkId: string
}

const declare = loadStatements(import.meta.url)

const deleteExpiries = declare<{ limit: number }, { count: number }>('delete_old_wrong_expiries')

/**
 * Deletes some of the rows that no longer count.
 * @returns their number.
 */
export const expireWrongExpiries = async (connection: Connection, limit: number): Promise<number> =>
  firstRow(await deleteExpiries(connection, { limit }))?.count ?? 0
