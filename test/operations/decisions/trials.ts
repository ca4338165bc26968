import type { DecisionFacts, ReservedDecision } from '../../../src/domain/decision.ts'
import type { PublicToken } from '../../../src/domain/identifiers.ts'
import type { Money } from '../../../src/domain/money.ts'
import { insertEndpointVersion } from '../../../src/storage/decisions/endpoints.ts'
import { beginTrial } from '../../../src/storage/decisions/trials.ts'
import type { Database } from '../../../src/storage/engine/database.ts'
import { newEventId } from '../../../src/storage/events/events.ts'
import { someEndpoint, someFacts } from './requests.ts'

/** Requests that wait for an answer, without an authorization. */

/** Registers an endpoint without a URL: the client takes its requests on a stream. */
export const registerStreamEndpoint = async (
  database: Database,
  clientId = 'demo-client',
): Promise<void> => {
  const endpoint = someEndpoint({ clientId, version: 1, url: null })
  await insertEndpointVersion(database, endpoint, endpoint, endpoint)
}

export type WaitingOptions = {
  publicToken: PublicToken
  timeoutMs?: number
  hold?: Money | null
  facts?: Partial<DecisionFacts>
}

/** Begins a request that waits: its client is asked, and nothing is decided. */
export const beginWaiting = async (
  database: Database,
  {
    facts = {},
    hold = { amount: 1_250, currency: 'EUR' },
    publicToken,
    timeoutMs = 2_500,
  }: WaitingOptions,
): Promise<ReservedDecision & { publicToken: PublicToken }> => {
  const card = { publicToken, productId: 1001, lastFour: '7899' }
  const reserved = await beginTrial(database, {
    decisionId: newEventId(),
    purpose: 'shadow',
    endpoint: { productId: null, version: 1, timeoutMs },
    facts: someFacts({ card, ...facts }),
    hold,
  })
  if (reserved === null) throw new Error('There is no such card.')
  return { ...reserved, publicToken }
}
