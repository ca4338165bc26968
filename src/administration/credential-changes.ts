import { controllersOf } from '../domain/provenance.ts'
import type { AdministeredClient } from '../storage/administered-clients.ts'
import {
  countCredentials,
  insertProvenance,
  listProvenance,
  voidConfirmations,
} from '../storage/client-provenance.ts'
import type { Connection } from '../storage/database.ts'
import type { Operator } from './administration.ts'
import { isSame } from './administration.ts'

/** Puts on record who registered a client, and who could have acted for that one. */
export const recordCreator = (
  connection: Connection,
  { clientId: by }: Operator,
  clientId: string,
): Promise<void> => recordProvenance(connection, by, clientId, 'created')

/**
 * Puts on record that a client was given other credentials. Another who gave them may know them: from now
 * on that one counts as able to act for it, and no confirmation from before counts any more. Whoever
 * changes their own changes nothing of that.
 */
export async function recordCredentials(
  connection: Connection,
  { clientId: by }: Operator,
  clientId: string,
): Promise<void> {
  await countCredentials(connection, clientId)
  if (by === clientId) return
  await recordProvenance(connection, by, clientId, 'credentials_set')
  await voidConfirmations(connection, clientId)
}

/** Whether a change gives a client other credentials, or lets it in with those that it had. */
export const hasOtherCredentials = (
  before: AdministeredClient,
  after: AdministeredClient,
): boolean =>
  before.jwks !== after.jwks ||
  before.certificateBoundTokens !== after.certificateBoundTokens ||
  (after.active && !before.active) ||
  (after.kind === 'admin' && !isSame(before.scopes, after.scopes))

/** Puts a hand in a client on record, with everybody who could have acted for the one who had it. */
export async function recordProvenance(
  connection: Connection,
  by: string,
  clientId: string,
  act: 'created' | 'credentials_set' | 'confirmed',
): Promise<void> {
  const controlledBy = controllersOf(by, await listProvenance(connection, [by]))
  await insertProvenance(connection, { clientId, act, by, controlledBy })
}
