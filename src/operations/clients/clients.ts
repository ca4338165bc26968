import * as clientRules from '../../domain/client.ts'
import type { ProductId } from '../../domain/identifiers.ts'
import { isPersonId } from '../../domain/person.ts'
import { Problem, validationFailed } from '../../domain/problem.ts'
import type { Hsm } from '../../hsm/contract/hsm.ts'
import * as storedClients from '../../storage/clients/clients.ts'
import type { Connection, Database } from '../../storage/engine/database.ts'
import { lockInstallation } from '../../storage/engine/installation.ts'
import { grantProduct, revokeProduct } from '../../storage/products/products.ts'
import { differences, nameChange, recordAct } from '../acts/acts.ts'
import { type Answer, once, type RepeatableRequest } from '../idempotency/idempotency.ts'
import { generateClientSecret, hashClientSecret } from './credentials.ts'
import { hasOtherCredentials, recordCredentials, recordProvenance } from './provenance.ts'
import { type ClientDraft, validateClient } from './validate-client.ts'

/** What the operations on clients, products and zones work with. */
export interface ClientContext {
  readonly database: Database
  readonly hsm: Hsm
  /** Listeners that ask their callers for a certificate. */
  readonly certificateListeners: ReadonlySet<clientRules.ListenerName>
}

/** A client as an administrator sees it. */
export interface ClientRecord {
  readonly clientId: string
  readonly clientName: string
  readonly kind: clientRules.ClientKind
  readonly scopes: readonly string[]
  readonly active: boolean
  /** How it proves who it is. */
  readonly authentication: clientRules.ClientAuthentication
  /** Its public keys, a JWK Set (RFC 7517 section 5). */
  readonly jwks: JwkSet | null
  /** Until when the secret before the last rotation is taken. */
  readonly previousSecretUntil: string | null
  /** Whether its tokens are good on connections with its TLS certificate alone (RFC 8705). */
  readonly certificateBoundTokens: boolean
  readonly productIds: readonly ProductId[]
  readonly createdAt: string
  /** Who registered it; null where it comes from the configuration or the sandbox. */
  readonly createdBy: string | null
  /** Which credentials it has: one more each time that it is given others. */
  readonly credentialsVersion: number
  /** Administrators who made sure that its credentials are with the person they are for. */
  readonly confirmedBy: readonly string[]
  /** Other administrators who count as able to act for it. */
  readonly controlledBy: readonly string[]
  /**
   * Since when its webhooks get nothing, as it is disabled or has lost the scopes; null where they
   * do.
   */
  readonly deliveriesSuspendedSince: string | null
}

interface JwkSet {
  readonly keys: readonly Readonly<Record<string, string>>[]
}

export const clientRecord = ({
  createdAt,
  credentialsChangedAt: _1,
  deliveriesSuspendedSince,
  formerCredentialsUntil: _2,
  provenance,
  hasSecret,
  jwks,
  previousSecretUntil,
  ...client
}: storedClients.AdministeredClient): ClientRecord => ({
  ...client,
  authentication: clientRules.selectAuthentication({ hasSecret, jwks }),
  jwks: jwks === null ? null : (JSON.parse(jwks) as JwkSet),
  previousSecretUntil: previousSecretUntil?.toISOString() ?? null,
  createdAt: createdAt.toISOString(),
  ...clientRules.describeOrigin(provenance),
  controlledBy: clientRules
    .listControllers(client.clientId, provenance)
    .filter((id) => id !== client.clientId),
  deliveriesSuspendedSince: deliveriesSuspendedSince?.toISOString() ?? null,
})

/** A client to register. With keys it has no secret. */
interface NewClientDraft extends Required<Pick<ClientDraft, 'clientName' | 'scopes'>> {
  readonly clientId: string
  readonly kind: clientRules.ClientKind
  readonly jwks?: object
  readonly productIds?: readonly ProductId[]
  readonly certificateBoundTokens?: boolean
}

/** A client and, the first time that it is answered, its secret. */
interface CreatedClient extends ClientRecord {
  readonly clientSecret?: string
}

/**
 * Registers a client. Its secret is shown now and never again: a repeat of the request gets the
 * client without it.
 * @throws `Problem` `validation_failed` with everything that is wrong, at once.
 */
export async function createClient(
  { certificateListeners, ...context }: ClientContext,
  operator: clientRules.Requester,
  draft: NewClientDraft,
  request: RepeatableRequest | null,
): Promise<Answer<CreatedClient>> {
  const { clientId, kind, productIds = [] } = draft
  const secret = draft.jwks === undefined ? generateClientSecret() : null
  const { replayed, result } = await once(context, request, async (connection) => {
    await lockInstallation(connection)
    const isTaken = (await storedClients.findAdministeredClient(connection, clientId)) !== null
    const validated = await validateClient(connection, kind, draft, certificateListeners)
    const faults = [
      ...(isTaken ? [{ pointer: '/clientId', detail: 'is the id of another client' }] : []),
      ...(isPersonId(clientId)
        ? [{ pointer: '/clientId', detail: 'has the form that is reserved for people' }]
        : []),
      ...validated.faults,
    ]
    if (faults.length > 0) throw validationFailed(...faults)
    const secretHash = secret === null ? null : hashClientSecret(secret)
    await storedClients.insertClient(connection, { ...draft, secretHash, jwks: validated.jwks })
    await recordProvenance(connection, operator, clientId, 'created')
    for (const productId of productIds) await grantProduct(connection, clientId, productId)
    const client = await storedClients.findAdministeredClient(connection, clientId)
    if (!client) throw new Error('The database did not keep a client.')
    const record = clientRecord(client)
    await recordAct(connection, operator, {
      act: 'created',
      subjectKind: 'client',
      subject: clientId,
      details: { ...record, previousSecretUntil: undefined, createdAt: undefined },
    })
    return record
  })
  const isShown = secret !== null && !replayed
  return { replayed, result: isShown ? { ...result, clientSecret: secret } : result }
}

/** Of a client, what is given. */
interface ClientChange {
  readonly clientId: string
  readonly draft: ClientDraft
  /** Judges under the lock whether the change may be made to the client as it is then. */
  readonly assertAllowed: AssertAllowed
}

/**
 * @throws `Problem` where a client as it is now, while it is locked, must not be changed by this
 *   request.
 */
export type AssertAllowed = (before: ClientRecord) => void

/**
 * Changes the given members of a client. An inactive client is refused everywhere within 60
 * seconds; a client that gets keys loses its secret.
 * @throws `Problem` `not_found`; `validation_failed` with every fault at once, also when no
 *   administrator would be left.
 */
export const changeClient = (
  { certificateListeners, ...context }: ClientContext,
  operator: clientRules.Requester,
  { assertAllowed, clientId, draft }: ClientChange,
  request: RepeatableRequest | null,
): Promise<Answer<ClientRecord>> =>
  once(context, request, async (connection) => {
    await lockInstallation(connection)
    const before = await storedClients.findAdministeredClient(connection, clientId)
    if (!before) throw new Problem('not_found')
    assertAllowed(clientRecord(before))
    const { faults, jwks } = await validateClient(
      connection,
      before.kind,
      draft,
      certificateListeners,
    )
    if (faults.length > 0) throw validationFailed(...faults)
    await storedClients.updateClient(connection, { ...before, ...draft, jwks: jwks ?? before.jwks })
    if (draft.productIds) await setGrants(connection, before, draft.productIds)
    // Whoever could let an administrator in again would have to be one.
    if (before.kind === 'admin' && (await storedClients.countAdministrators(connection)) === 0) {
      throw validationFailed({ pointer: '', detail: 'would leave no administrator' })
    }
    const changed = (await storedClients.findAdministeredClient(connection, clientId)) ?? before
    if (hasOtherCredentials(before, changed)) {
      await recordCredentials(connection, operator, clientId)
    }
    const after = clientRecord(
      (await storedClients.findAdministeredClient(connection, clientId)) ?? changed,
    )
    await recordAct(connection, operator, {
      act: nameChange(before, after, { on: 'enabled', off: 'disabled' }),
      subjectKind: 'client',
      subject: clientId,
      details: differences(clientRecord(before), after),
    })
    return after
  })

async function setGrants(
  connection: Connection,
  { clientId, productIds: before }: storedClients.AdministeredClient,
  productIds: readonly ProductId[],
): Promise<void> {
  const revoked = before.filter((productId) => !productIds.includes(productId))
  for (const productId of revoked) await revokeProduct(connection, clientId, productId)
  for (const productId of productIds) await grantProduct(connection, clientId, productId)
}

/** One client, active or not. @throws `Problem` `not_found`. */
export async function findClientRecord(
  { database }: ClientContext,
  clientId: string,
): Promise<ClientRecord> {
  const client = await storedClients.findAdministeredClient(database, clientId)
  if (!client) throw new Problem('not_found')
  return clientRecord(client)
}

/** Clients after this id, by their ids; of one kind, or of all. */
export const listClients = async (
  { database }: ClientContext,
  afterClientId: string,
  kind: clientRules.ClientKind | null,
  limit: number,
): Promise<ClientRecord[]> =>
  (await storedClients.listClientRows(database, afterClientId, kind, limit)).map(clientRecord)
