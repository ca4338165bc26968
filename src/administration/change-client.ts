import { Problem, validationFailed } from '../errors.ts'
import { once } from '../idempotency/once.ts'
import type { Answer, RepeatableRequest } from '../idempotency/remembered.ts'
import {
  type AdministeredClient,
  countAdministrators,
  findAdministeredClient,
  updateClient,
} from '../storage/administered-clients.ts'
import type { Connection } from '../storage/database.ts'
import { holdInstallation } from '../storage/installation.ts'
import { grantProduct, revokeProduct } from '../storage/products.ts'
import { type Administration, differences, type Operator, recordAct } from './administration.ts'
import { type ClientRecord, clientRecord } from './client-record.ts'
import { hasOtherCredentials, recordCredentials } from './credential-changes.ts'
import { type ClientDraft, judgeClient, parseKeys } from './judge-client.ts'

/**
 * Changes what is given of a client. One that is not active is refused everywhere within 60 seconds;
 * one that is given keys loses its secret.
 * @throws `Problem` `not_found`; `validation_failed` with everything that is wrong, at once, and where
 *   nobody could administer any more.
 */
export const changeClient = (
  administration: Administration,
  operator: Operator,
  clientId: string,
  draft: ClientDraft,
  request: RepeatableRequest | null,
): Promise<Answer<ClientRecord>> =>
  once(administration, request, async (connection) => {
    await holdInstallation(connection)
    const before = await findAdministeredClient(connection, clientId)
    if (!before) throw new Problem('not_found')
    const { certificateListeners } = administration
    const faults = await judgeClient(connection, before.kind, draft, certificateListeners)
    if (faults.length > 0) throw validationFailed(...faults)
    await apply(connection, before, draft)
    await refuseLastAdministrator(connection, before)
    const changed = (await findAdministeredClient(connection, clientId)) ?? before
    if (hasOtherCredentials(before, changed)) {
      await recordCredentials(connection, operator, clientId)
    }
    const after = clientRecord((await findAdministeredClient(connection, clientId)) ?? changed)
    await recordAct(connection, operator, {
      act: actOf(before, after),
      subjectKind: 'client',
      subject: clientId,
      details: differences(clientRecord(before), after),
    })
    return after
  })

async function apply(
  connection: Connection,
  before: AdministeredClient,
  { jwks, productIds, ...draft }: ClientDraft,
): Promise<void> {
  const keys = parseKeys(jwks)
  if ('fault' in keys) throw validationFailed(keys.fault)
  await updateClient(connection, { ...before, ...draft, jwks: keys.jwks ?? before.jwks })
  if (productIds === undefined) return
  for (const productId of before.productIds.filter((id) => !productIds.includes(id))) {
    await revokeProduct(connection, before.clientId, productId)
  }
  for (const productId of productIds) await grantProduct(connection, before.clientId, productId)
}

/** Whoever could let an administrator in again would have to be one. */
async function refuseLastAdministrator(
  connection: Connection,
  { kind }: AdministeredClient,
): Promise<void> {
  if (kind !== 'admin' || (await countAdministrators(connection)) > 0) return
  throw validationFailed({ pointer: '', detail: 'leaves nobody who may administer' })
}

function actOf(before: AdministeredClient, after: ClientRecord): string {
  if (before.active === after.active) return 'changed'
  return after.active ? 'enabled' : 'disabled'
}
