import { listControllers, type Requester } from '../../domain/client.ts'
import type { AdministeredClient } from '../../storage/clients/clients.ts'
import * as storedProvenance from '../../storage/clients/provenance.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { isSame } from '../acts/acts.ts'

/**
 * Records who registered, enabled or approved a client, with everyone who could act as that person.
 */
export async function recordProvenance(
  connection: Connection,
  operator: Requester,
  clientId: string,
  act: 'created' | 'credentials_set' | 'confirmed',
): Promise<void> {
  const by = operator.clientId
  const controlledBy = listControllers(by, await storedProvenance.listProvenance(connection, [by]))
  await storedProvenance.insertProvenance(connection, { clientId, act, by, controlledBy })
  await recordApprover(connection, operator, clientId)
}

/** Records who approved the credentials of a client. */
async function recordApprover(
  connection: Connection,
  { approvedBy }: Requester,
  clientId: string,
): Promise<void> {
  if (!approvedBy) return
  await storedProvenance.insertProvenance(connection, {
    clientId,
    act: 'approved',
    by: approvedBy,
    controlledBy: [approvedBy],
  })
}

/**
 * Records that a client got other credentials. If another person issued them, that person may know
 * them: from now on they count as able to act as the client, and earlier confirmations no longer
 * count. A client that changes its own credentials changes none of this.
 */
export async function recordCredentials(
  connection: Connection,
  operator: Requester,
  clientId: string,
): Promise<void> {
  await storedProvenance.countCredentials(connection, clientId)
  if (operator.clientId === clientId) return recordApprover(connection, operator, clientId)
  await recordProvenance(connection, operator, clientId, 'credentials_set')
  await storedProvenance.voidConfirmations(connection, clientId)
}

/** Whether a change gives a client other credentials, or enables it again with its present ones. */
export const hasOtherCredentials = (
  before: AdministeredClient,
  after: AdministeredClient,
): boolean =>
  before.jwks !== after.jwks ||
  before.certificateBoundTokens !== after.certificateBoundTokens ||
  (after.active && !before.active) ||
  (after.kind === 'admin' && !isSame(before.scopes, after.scopes))
