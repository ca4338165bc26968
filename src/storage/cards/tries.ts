import type { PublicToken } from '../../domain/identifiers.ts'
import type { TryCounters, TryKind } from '../../domain/tries.ts'
import type { Database } from '../engine/database.ts'
import { loadSharedStatements } from '../engine/statements.ts'

const shared = loadSharedStatements(import.meta.url)

interface TriesOfClient {
  readonly publicToken: PublicToken
  readonly kind: TryKind
  readonly clientId: string
}

const selectTries = shared.declareRead<TriesOfClient, TryCounters>('find_tries')

/** Returns the tries of a client's card, or null. */
export const findTries = (
  database: Database,
  publicToken: PublicToken,
  kind: TryKind,
  clientId: string,
): Promise<TryCounters | null> => selectTries(database, { publicToken, kind, clientId })
