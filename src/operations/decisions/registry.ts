import { hash } from 'node:crypto'
import type { DecisionEndpoint } from '../../domain/decision.ts'
import { type EndpointRole, listEndpointsInForce } from '../../storage/decisions/endpoints.ts'
import type { Database } from '../../storage/engine/database.ts'
import { createFreshValues } from './fresh-values.ts'

/** The versions in force for a product of a client; at least one of the first and the last. */
export interface EndpointsInForce {
  readonly enforced: DecisionEndpoint | null
  /** Asked outside the sample of `enforced`: the first one whose own sample has the request. */
  readonly others: readonly DecisionEndpoint[]
  /** Asked beside it; its answers are recorded only. */
  readonly shadow: DecisionEndpoint | null
}

/** The endpoints in force, from memory: a change in another process counts within a second. */
export interface EndpointRegistry {
  /** Null if the client is not asked. */
  find(clientId: string, productId: number): Promise<EndpointsInForce | null>
  /** Forgets all read values: after an act of this process, and after the database was replaced. */
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
  const pick = (role: EndpointRole, isOwn: boolean) =>
    rows.find((row) => row.role === role && (row.productId !== null) === isOwn)
  // In each mode, a product's own version goes before the one for all products.
  const deciding = [
    pick('enforced', true),
    pick('previous', true),
    pick('enforced', false),
    pick('previous', false),
  ]
  const [enforced = null, ...others] = deciding.filter((each) => each !== undefined)
  const shadow = pick('shadow', true) ?? pick('shadow', false) ?? null
  return enforced || shadow ? { enforced, others, shadow } : null
}

/**
 * Selects who decides an authorization: the enforced version, or outside its sample the
 * previous one, or that for all products. The same authorization always has the same one.
 * @returns null if the client is not asked.
 */
export function selectEndpoint(
  { enforced, others }: EndpointsInForce,
  authorizationId: string,
): DecisionEndpoint | null {
  if (!enforced || isInSample(enforced, authorizationId)) return enforced
  return others.find((other) => isInSample(other, authorizationId)) ?? null
}

/** Whether an authorization is in the sample of a version. */
export const isInSample = ({ samplePercent }: DecisionEndpoint, authorizationId: string): boolean =>
  samplePercent === 100 || computePercentile(authorizationId) < samplePercent

/** Spreads authorizations evenly over 0 to 99. Their ids are ordered by time, so not by these. */
const computePercentile = (authorizationId: string): number =>
  Number.parseInt(hash('sha256', authorizationId, 'hex').slice(0, 8), 16) % 100
