import type { Requester } from '../../domain/client.ts'
import type { DecisionEndpoint, DecisionFacts } from '../../domain/decision.ts'
import { Problem } from '../../domain/problem.ts'
import { findEndpointVersion } from '../../storage/decisions/endpoints.ts'
import type { DecisionRow } from '../../storage/decisions/records.ts'
import { beginTrial, concludeTrial } from '../../storage/decisions/trials.ts'
import type { Database } from '../../storage/engine/database.ts'
import { newEventId } from '../../storage/events/events.ts'
import type { AskClient } from './ask-client.ts'
import { toRequest } from './compose-row.ts'
import { type DecisionWithRequest, findDecision, requireDecision } from './records.ts'
import type { EndpointRegistry } from './registry.ts'

interface ReplayContext {
  readonly database: Database
  readonly registry: Pick<EndpointRegistry, 'find'>
  readonly ask: AskClient
  /** Called before the wait for the client begins. */
  readonly onWaiting: () => void
}

/** A decision, and the present answer of an endpoint to the same facts. */
interface Replay {
  readonly original: DecisionWithRequest
  readonly replay: DecisionWithRequest
}

/**
 * Asks a client again about a past decision, with the facts of that time. The request says that it
 * is a replay, and the answer changes nothing.
 * @param version of the endpoint that was asked; null for what is in force now.
 * @throws `Problem` `not_found` without such a decision, or without such an endpoint.
 */
export async function replayDecision(
  { ask, database, onWaiting, registry }: ReplayContext,
  requester: Requester,
  decisionId: string,
  version: number | null,
): Promise<Replay> {
  const row = await requireDecision({ database }, requester, decisionId)
  const facts = JSON.parse(row.facts) as DecisionFacts
  const endpoint =
    version === null
      ? await findInForce(registry, requester, facts)
      : await findVersion(database, row, version)
  if (!endpoint) throw new Problem('not_found', { detail: noneInForce })
  const { hold } = toRequest(row).reserved
  const trialId = newEventId()
  const trial = { decisionId: trialId, purpose: 'replay', endpoint, facts, hold } as const
  const reserved = await beginTrial(database, trial)
  if (!reserved) throw new Problem('not_found', { detail: 'The card of this decision is gone.' })
  onWaiting()
  const outcome = await ask(endpoint, { facts, reserved, purpose: 'replay' })
  const key = { publicToken: row.publicToken, decisionId: trialId }
  await concludeTrial(database, key, outcome)
  const [original, replay] = await Promise.all([
    findDecision({ database }, requester, decisionId),
    findDecision({ database }, requester, trialId),
  ])
  return { original, replay }
}

const noneInForce = 'No endpoint is in force. Name a version: ?version=N.'

async function findInForce(
  registry: Pick<EndpointRegistry, 'find'>,
  { clientId }: Requester,
  { card }: DecisionFacts,
): Promise<DecisionEndpoint | null> {
  const inForce = await registry.find(clientId, card.productId)
  return inForce && (inForce.enforced ?? inForce.shadow)
}

async function findVersion(
  database: Database,
  { clientId, endpointProductId }: DecisionRow,
  version: number,
): Promise<DecisionEndpoint> {
  const productId = endpointProductId === 0 ? null : endpointProductId
  const found = await findEndpointVersion(database, { clientId, productId }, version)
  if (!found) throw new Problem('not_found', { detail: `The endpoint has no version ${version}.` })
  return found
}
