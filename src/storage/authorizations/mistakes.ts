import type { PublicToken } from '../../domain/identifiers.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** What was wrong. None of them costs a try, so all are watched. */
export const mistakeKinds = ['expiry', 'cryptogram', 'card_value', 'cavv'] as const

export type MistakeKind = (typeof mistakeKinds)[number]

/** A mistake that a network sent for a card. */
export interface Mistake {
  readonly publicToken: PublicToken
  readonly kind: MistakeKind
  /** The network client. */
  readonly networkId: string
}

const declare = loadStatements(import.meta.url)

const deleteMistakes = declare<{ limit: number }, { count: number }>('delete_old_mistakes')

/**
 * Deletes some of the rows that no longer count.
 * @returns their number.
 */
export const expireMistakes = async (connection: Connection, limit: number): Promise<number> =>
  firstRow(await deleteMistakes(connection, { limit }))?.count ?? 0
