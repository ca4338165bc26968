import { hash } from 'node:crypto'
import type { DecisionEndpoint } from '../../domain/decision.ts'
import { type EndpointRole, listEndpointsInForce } from '../../storage/decisions/endpoints.ts'
import type { Database } from '../../storage/engine/database.ts'
import { createFreshValues } from './fresh-values.ts'

/** The versions in force for a product of a client; at least one of the first and the last. */
export interface EndpointsInForce {
  readonly enforced: DecisionEndpoint | null
  /** Asked about the authorizations outside the sample of `enforced`. */
  readonly previous: DecisionEndpoint | null
  /** Asked beside it; its answers are recorded only. */
  readonly shadow: DecisionEndpoint | null
}

/** The endpoints in force, from memory: a change in another process counts within a second. */
export interface EndpointRegistry {
  /** Null if nobody is asked. */
  find(clientId: string, productId: number): Promise<EndpointsInForce | null>
  /** Forgets what was read: after an act of this process, and after the database was replaced. */
  forget(): void
}

export function createEndpointRegistry(database: Database): EndpointRegistry {
  const values = createFreshValues(async (key) => {
    const [productId = '', clientId = ''] = key.split('\n')
    return readInForce(database, clientId, Number(productId))
  })
  return {
    find: (clientId, productId) => values.find(`${productId}\n${clientId}`),
    forget: values.forget,
  }
}

async function readInForce(
  database: Database,
  clientId: string,
  productId: number,
): Promise<EndpointsInForce | null> {
  const rows = await listEndpointsInForce(database, clientId, productId)
  // In each mode, a product's own version goes before the one for all products.
  const isOwn = (role: EndpointRole) => rows.some((row) => row.role === role && row.productId)
  const owns = { enforced: isOwn('enforced'), previous: isOwn('enforced'), shadow: isOwn('shadow') }
  const pick = (role: EndpointRole) =>
    rows.find((row) => row.role === role && (row.productId !== null) === owns[role]) ?? null
  const enforced = pick('enforced')
  const shadow = pick('shadow')
  if (!enforced && !shadow) return null
  return { enforced, previous: pick('previous'), shadow }
}

/**
 * Selects who decides an authorization: the enforced version, or the previous one outside its
 * sample. The same authorization always has the same one.
 * @returns null if nobody is asked.
 */
export function selectEndpoint(
  { enforced, previous }: EndpointsInForce,
  authorizationId: string,
): DecisionEndpoint | null {
  if (!enforced || enforced.samplePercent === 100) return enforced
  return computePercentile(authorizationId) < enforced.samplePercent ? enforced : previous
}

/** Whether an authorization is in the sample of a shadow version. */
export const isInSample = (endpoint: DecisionEndpoint, authorizationId: string): boolean =>
  computePercentile(authorizationId) < endpoint.samplePercent

/** Spreads authorizations evenly over 0 to 99. Their ids are ordered by time, so not by these. */
const computePercentile = (authorizationId: string): number =>
  Number.parseInt(hash('sha256', authorizationId, 'hex').slice(0, 8), 16) % 100
