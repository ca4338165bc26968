import type { DecisionEndpoint } from '../../domain/decision.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** A change of an endpoint that a process has seen, as in the comment of the function. */
export type SeenChange = 'degraded' | 'answering' | 'still-degraded' | 'still-answering'

interface SeenEndpoint {
  readonly publicToken: PublicToken
  readonly clientId: string
  readonly productId: number
  readonly version: number
  readonly change: SeenChange
  readonly unanswered: number | null
}

const recordState = declare<SeenEndpoint, { isChanged: boolean }>('record_endpoint_state')

/**
 * Records that an endpoint stopped answering, or answers again, with an event of the card whose
 * authorization showed it.
 * @param unanswered how many of the last requests were not answered; null unless that changed.
 * @returns whether the state changed: another process may have recorded it.
 */
export async function recordEndpointState(
  connection: Connection,
  { clientId, productId, version }: DecisionEndpoint,
  publicToken: PublicToken,
  change: SeenChange,
  unanswered: number | null,
): Promise<boolean> {
  const seen = { publicToken, clientId, productId: productId ?? 0, version, change, unanswered }
  return firstRow(await recordState(connection, seen))?.isChanged ?? false
}
