import type { ClientKind, ProvenanceAct } from '../../domain/client.ts'
import type { ProductId } from '../../domain/identifiers.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import { followSuspension } from './suspensions.ts'

/** A client's credentials and scopes. */
export interface NewClient {
  /** 1 to 64 visible ASCII characters. */
  readonly clientId: string
  readonly clientName: string
  readonly kind: ClientKind
  /** The scopes that it is registered for. */
  readonly scopes: readonly string[]
  /** SHA-256 of its secret, 32 bytes; null without a secret. */
  readonly secretHash: Uint8Array | null
  /** Its public keys, a JWK Set as JSON text (RFC 7517 section 5); null without keys. */
  readonly jwks: string | null
  /**
   * Whether its tokens are bound to its TLS certificate (RFC 8705). By default they are not, or as
   * before.
   */
  readonly certificateBoundTokens?: boolean
}

/** A registered client. */
export interface Client extends NewClient {
  readonly active: boolean
  /** SHA-256 of the secret before the last rotation, while it is accepted. */
  readonly previousSecretHash: Uint8Array | null
  readonly certificateBoundTokens: boolean
}

const declare = loadStatements(import.meta.url)

const selectClient = declare<{ clientId: string }, Client>('find_client')

/** Returns a client, active or not, or null. */
export const findClient = async (
  connection: Connection,
  clientId: string,
): Promise<Client | null> => firstRow(await selectClient(connection, { clientId }))

interface ClientColumns extends Omit<NewClient, 'certificateBoundTokens'> {
  readonly certificateBoundTokens: boolean | null
}

const composeColumns = (client: NewClient): ClientColumns => ({
  ...client,
  certificateBoundTokens: client.certificateBoundTokens ?? null,
})

const insert = declare<ClientColumns>('insert_client')

/**
 * Registers an active client.
 * @returns false, and changes nothing, if the id is taken.
 */
export const insertClient = async (connection: Connection, client: NewClient): Promise<boolean> =>
  (await insert(connection, composeColumns(client))).length === 1

const upsert = declare<ClientColumns>('upsert_client')

/** Registers a client, or updates the client with this id. A disabled client stays disabled. */
export const upsertClient = async (connection: Connection, client: NewClient): Promise<void> => {
  await upsert(connection, composeColumns(client))
  await followSuspension(connection, client.clientId)
}

/** A client as administrators see it, without its secret and values derived from it. */
export interface AdministeredClient extends Omit<NewClient, 'secretHash'> {
  readonly active: boolean
  readonly hasSecret: boolean
  readonly certificateBoundTokens: boolean
  /** The expiry of the secret before the last rotation; null if it is not accepted. */
  readonly previousSecretUntil: Date | null
  readonly createdAt: Date
  /** The number of changes of its credentials. */
  readonly credentialsVersion: number
  /** When its credentials were last changed. */
  readonly credentialsChangedAt: Date
  /** The last expiry of tokens for former credentials; null without any. */
  readonly formerCredentialsUntil: Date | null
  readonly provenance: readonly ProvenanceAct[]
  /** The start of the suspension of its webhooks; null while it may be notified. */
  readonly deliveriesSuspendedSince: Date | null
  /** The products that it may issue cards of. */
  readonly productIds: readonly ProductId[]
}

interface ClientsAfter {
  readonly afterClientId: string
  readonly kind: ClientKind | null
  readonly limit: number
}

const selectIds = declare<ClientsAfter, { clientId: string }>('list_client_ids')
const selectAdministered = declare<{ clientIds: readonly string[] }, AdministeredClient>(
  'list_administered_clients',
)

/** Lists clients, by id; of one kind, or of all. */
export async function listClientRows(
  connection: Connection,
  afterClientId: string,
  kind: ClientKind | null,
  limit: number,
): Promise<AdministeredClient[]> {
  const ids = await selectIds(connection, { afterClientId, kind, limit })
  return selectAdministered(connection, { clientIds: ids.map(({ clientId }) => clientId) })
}

/** Returns a client, active or not, or null. */
export const findAdministeredClient = async (
  connection: Connection,
  clientId: string,
): Promise<AdministeredClient | null> =>
  firstRow(await selectAdministered(connection, { clientIds: [clientId] }))

type ClientSettings = Pick<
  AdministeredClient,
  'clientId' | 'clientName' | 'scopes' | 'jwks' | 'active' | 'certificateBoundTokens'
>

const update = declare<ClientSettings>('update_client')

/**
 * Updates a client. A client with keys has no secret; one that may not be notified gets no
 * deliveries.
 */
export const updateClient = async (
  connection: Connection,
  settings: ClientSettings,
): Promise<void> => {
  await update(connection, settings)
  await followSuspension(connection, settings.clientId)
}

interface SecretReplacement {
  readonly clientId: string
  readonly secretHash: Uint8Array
  readonly overlapHours: number
}

const updateSecret = declare<SecretReplacement, { previousSecretUntil: Date | null }>(
  'replace_client_secret',
)

/**
 * Gives a client another secret; the previous one stays valid for a number of hours.
 * @returns its expiry; undefined if the client has keys instead of a secret.
 */
export const replaceClientSecret = async (
  connection: Connection,
  clientId: string,
  secretHash: Uint8Array,
  overlapHours: number,
): Promise<Date | null | undefined> => {
  const rows = await updateSecret(connection, { clientId, secretHash, overlapHours })
  return rows[0]?.previousSecretUntil
}

const countActive = declare<object, { count: number }>('count_administrators')

/** Counts the active administrators. */
export const countAdministrators = async (connection: Connection): Promise<number> =>
  firstRow(await countActive(connection, {}))?.count ?? 0
