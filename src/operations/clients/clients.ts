import * as clientRules from '../../domain/client.ts'
import type { ProductId } from '../../domain/identifiers.ts'
import { isPersonId } from '../../domain/person.ts'
import { Problem, validationFailed } from '../../domain/problem.ts'
import type { Hsm } from '../../hsm/contract/hsm.ts'
import * as storedClients from '../../storage/clients/clients.ts'
import type { Connection, Database } from '../../storage/engine/database.ts'
import { lockInstallation } from '../../storage/engine/installation.ts'
import { listActorNames } from '../../storage/people/actor-names.ts'
import { grantProduct, revokeProduct } from '../../storage/products/products.ts'
import { differences, nameChange, recordAct } from '../acts/acts.ts'
import { type Answer, once, type RepeatableRequest } from '../idempotency/idempotency.ts'
import { generateClientSecret, hashClientSecret } from './credentials.ts'
import { hasOtherCredentials, recordCredentials, recordProvenance } from './provenance.ts'
import { type ClientDraft, validateClient } from './validate-client.ts'

/** The dependencies of the operations on clients, products and zones. */
export interface ClientContext {
  readonly database: Database
  readonly hsm: Hsm
  /** The listeners that request client certificates. */
  readonly certificateListeners: ReadonlySet<clientRules.ListenerName>
}

/** The detail of a 404. */
export const noClient = 'No client has this clientId.'

/** A client as an administrator sees it. */
export interface ClientRecord {
  readonly clientId: string
  readonly clientName: string
  readonly kind: clientRules.ClientKind
  readonly scopes: readonly string[]
  readonly active: boolean
  /** How it authenticates. */
  readonly authentication: clientRules.ClientAuthentication
  /** Its public keys, a JWK Set (RFC 7517 section 5). */
  readonly jwks: JwkSet | null
  /** The expiry of the secret before the last rotation. */
  readonly previousSecretUntil: string | null
  /** Whether its tokens are only valid on connections with its TLS certificate (RFC 8705). */
  readonly certificateBoundTokens: boolean
  readonly productIds: readonly ProductId[]
  readonly createdAt: string
  /** The client that registered it; null if it comes from the configuration or the sandbox. */
  readonly createdBy: string | null
  /** The version of its credentials, which is raised with each change of them. */
  readonly credentialsVersion: number
  /** The administrators who confirmed that its credentials are in the hands of the right person. */
  readonly confirmedBy: readonly string[]
  /** The other administrators who could act as it. */
  readonly controlledBy: readonly string[]
  /**
   * The start of the suspension of its webhooks, while it is disabled or lacks the scopes; null
   * otherwise.
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

/** A client and, in the first answer only, its secret. */
interface CreatedClient extends ClientRecord {
  readonly clientSecret?: string
}

/**
 * Registers a client. Only this answer shows its secret: a repeat of the request returns the client
 * without it.
 * @throws `Problem` `validation_failed` with every fault.
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

/** The changed members of a client. */
interface ClientChange {
  readonly clientId: string
  readonly draft: ClientDraft
  /** Checks under the lock whether the present client may be changed. */
  readonly assertAllowed: AssertAllowed
}

/** @throws `Problem` if this request must not change the client in its present, locked state. */
export type AssertAllowed = (before: ClientRecord) => void

/**
 * Changes the given members of a client. An inactive client is rejected everywhere within 60
 * seconds; a client that gets keys loses its secret.
 * @throws `Problem` `not_found`; `validation_failed` with every fault at once, also if no
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
    if (!before) throw new Problem('not_found', { detail: noClient })
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
    // Only an administrator could activate an administrator again.
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

/**
 * Returns one client, active or not.
 * @throws `Problem` `not_found`.
 */
export async function findClientRecord(
  { database }: ClientContext,
  clientId: string,
): Promise<ClientRecord> {
  const client = await storedClients.findAdministeredClient(database, clientId)
  if (!client) throw new Problem('not_found', { detail: noClient })
  return clientRecord(client)
}

/**
 * Returns a client, and the names of the people and clients that its members name by their ids.
 * @throws `Problem` `not_found`
 */
export async function findNamedClient(
  context: ClientContext,
  clientId: string,
): Promise<ClientRecord & { readonly actorNames: Readonly<Record<string, string>> }> {
  const client = await findClientRecord(context, clientId)
  const { confirmedBy, controlledBy, createdBy } = client
  const actors = [createdBy, ...confirmedBy, ...controlledBy]
  const names = await listActorNames(context.database, actors)
  return { ...client, actorNames: Object.fromEntries(names) }
}

/** Lists clients after this id, by id; of one kind, or of all. */
export const listClients = async (
  { database }: ClientContext,
  afterClientId: string,
  kind: clientRules.ClientKind | null,
  limit: number,
): Promise<ClientRecord[]> =>
  (await storedClients.listClientRows(database, afterClientId, kind, limit)).map(clientRecord)
