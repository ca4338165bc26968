import { validationFailed } from '../errors.ts'
import { once } from '../idempotency/once.ts'
import type { Answer, RepeatableRequest } from '../idempotency/remembered.ts'
import { generateClientSecret, hashClientSecret } from '../oauth/client-secret.ts'
import { findAdministeredClient } from '../storage/administered-clients.ts'
import { type ClientKind, insertClient } from '../storage/clients.ts'
import type { Connection } from '../storage/database.ts'
import { holdInstallation } from '../storage/installation.ts'
import { grantProduct } from '../storage/products.ts'
import { type Administration, type Operator, recordAct } from './administration.ts'
import { type ClientRecord, clientRecord } from './client-record.ts'
import { recordCreator } from './credential-changes.ts'
import { type ClientDraft, judgeClient, parseKeys } from './judge-client.ts'

/** A client to register. With keys it has no secret. */
export interface NewClientDraft extends Required<Pick<ClientDraft, 'clientName' | 'scopes'>> {
  readonly clientId: string
  readonly kind: ClientKind
  readonly jwks?: object
  readonly productIds?: readonly number[]
  readonly certificateBoundTokens?: boolean
}

/** A client and, the first time that it is answered, its secret. */
export interface CreatedClient extends ClientRecord {
  readonly clientSecret?: string
}

/**
 * Registers a client. Its secret is shown now and never again: a repeat of the request gets the client
 * without it.
 * @throws `Problem` `validation_failed` with everything that is wrong, at once.
 */
export async function createClient(
  administration: Administration,
  operator: Operator,
  draft: NewClientDraft,
  request: RepeatableRequest | null,
): Promise<Answer<CreatedClient>> {
  const secret = draft.jwks === undefined ? generateClientSecret() : null
  const { replayed, result } = await once(administration, request, async (connection) => {
    await holdInstallation(connection)
    await refuseFaults(administration, connection, draft)
    const record = await register(connection, operator, draft, secret)
    const details = { ...record, previousSecretUntil: undefined, createdAt: undefined }
    const subject = draft.clientId
    await recordAct(connection, operator, {
      act: 'created',
      subjectKind: 'client',
      subject,
      details,
    })
    return record
  })
  const isShown = secret !== null && !replayed
  return { replayed, result: isShown ? { ...result, clientSecret: secret } : result }
}

async function refuseFaults(
  { certificateListeners }: Administration,
  connection: Connection,
  draft: NewClientDraft,
): Promise<void> {
  const isTaken = (await findAdministeredClient(connection, draft.clientId)) !== null
  const faults = [
    ...(isTaken ? [{ pointer: '/clientId', detail: 'is the id of another client' }] : []),
    ...(await judgeClient(connection, draft.kind, draft, certificateListeners)),
  ]
  if (faults.length > 0) throw validationFailed(...faults)
}

async function register(
  connection: Connection,
  operator: Operator,
  { jwks, productIds = [], ...draft }: NewClientDraft,
  secret: string | null,
): Promise<ClientRecord> {
  const keys = parseKeys(jwks)
  if ('fault' in keys) throw validationFailed(keys.fault)
  const secretHash = secret === null ? null : hashClientSecret(secret)
  const { clientId } = draft
  await insertClient(connection, { ...draft, secretHash, jwks: keys.jwks })
  await recordCreator(connection, operator, clientId)
  for (const productId of productIds) await grantProduct(connection, clientId, productId)
  const client = await findAdministeredClient(connection, clientId)
  if (!client) throw new Error('The database did not keep a client.')
  return clientRecord(client)
}
