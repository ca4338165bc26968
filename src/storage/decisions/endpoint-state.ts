import type { DecisionEndpoint } from '../../domain/decision.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

interface EndpointState {
  readonly publicToken: PublicToken
  readonly clientId: string
  readonly productId: number
  readonly version: number
  readonly unanswered: number | null
}

const recordState = declare<EndpointState, { isChanged: boolean }>('record_endpoint_state')

/**
 * Records that an endpoint stopped answering, or answers again, with an event of the card whose
 * authorization showed it.
 * @param unanswered how many of the last requests were not answered; null: it answers again.
 * @returns whether the state changed: another process may have recorded it.
 */
export async function recordEndpointState(
  connection: Connection,
  { clientId, productId, version }: DecisionEndpoint,
  publicToken: PublicToken,
  unanswered: number | null,
): Promise<boolean> {
  const state = { publicToken, clientId, productId: productId ?? 0, version, unanswered }
  return firstRow(await recordState(connection, state))?.isChanged ?? false
}
