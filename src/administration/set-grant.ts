import { Problem } from '../errors.ts'
import { once } from '../idempotency/once.ts'
import type { Answer, RepeatableRequest } from '../idempotency/remembered.ts'
import { findAdministeredClient } from '../storage/administered-clients.ts'
import { holdInstallation } from '../storage/installation.ts'
import { findProduct, grantProduct as grantStored, revokeProduct } from '../storage/products.ts'
import { type Administration, type Operator, recordAct } from './administration.ts'

/** Which product is granted to which client, or no longer is. */
export interface Grant {
  readonly clientId: string
  readonly productId: number
  readonly isGranted: boolean
}

/**
 * Lets a client system issue cards of a product, or no longer. Cards that it has live on. What is so
 * already stays so, and leaves no act.
 * @throws `Problem` `not_found` where there is no such client system, or no such product.
 */
export const setGrant = (
  administration: Administration,
  operator: Operator,
  { clientId, isGranted, productId }: Grant,
  request: RepeatableRequest | null,
): Promise<Answer<null>> =>
  once(administration, request, async (connection) => {
    await holdInstallation(connection)
    const client = await findAdministeredClient(connection, clientId)
    const product = await findProduct(connection, productId)
    if (client?.kind !== 'client' || !product) throw new Problem('not_found')
    if (client.productIds.includes(productId) === isGranted) return null
    await (isGranted ? grantStored : revokeProduct)(connection, clientId, productId)
    const act = isGranted ? 'product granted' : 'product revoked'
    const details = { productId }
    await recordAct(connection, operator, {
      act,
      subjectKind: 'client',
      subject: clientId,
      details,
    })
    return null
  })
