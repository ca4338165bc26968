import type { ChipUpdate } from '../../domain/chip-command.ts'
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

/** The tries of a PIN or CVV, and the known state of the PIN in the chip. */
export interface TriesRow extends TryCounters {
  /** Of the newest command that changes or unblocks it; null for a CVV, or without a chip. */
  readonly chipUpdate: ChipUpdate | null
  /** As a chip reported it last; null if none did. */
  readonly remainingOfflineTries: number | null
  readonly offlineTriesAt: Date | null
}

const selectTries = shared.declareRead<TriesOfClient, TriesRow>('find_tries')

/** Returns the tries of a client's card, or null. */
export const findTries = (
  database: Database,
  publicToken: PublicToken,
  kind: TryKind,
  clientId: string,
): Promise<TriesRow | null> => selectTries(database, { publicToken, kind, clientId })
