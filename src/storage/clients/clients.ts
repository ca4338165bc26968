import type { ClientKind, ProvenanceAct } from '../../domain/client.ts'
import type { ProductId } from '../../domain/identifiers.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import { followSuspension } from './suspensions.ts'

/** How a client may prove who it is, and what it may then ask for. */
export interface NewClient {
  /** 1 to 64 visible ASCII characters. */
  readonly clientId: string
  readonly clientName: string
  readonly kind: ClientKind
  /** Scopes that it is registered for. */
  readonly scopes: readonly string[]
  /** SHA-256 of its secret, 32 bytes; null where it has none. */
  readonly secretHash: Uint8Array | null
  /** Its public keys, a JWK Set as JSON text (RFC 7517 section 5); null where it has none. */
  readonly jwks: string | null
  /**
   * Whether its tokens are bound to its TLS certificate (RFC 8705). Left out: they are not, or as
   * before.
   */
  readonly certificateBoundTokens?: boolean
}

/** Someone who calls this service, as it is registered. */
export interface Client extends NewClient {
  readonly active: boolean
  /** SHA-256 of the secret before the last rotation, while it is still taken. */
  readonly previousSecretHash: Uint8Array | null
  readonly certificateBoundTokens: boolean
}

const declare = loadStatements(import.meta.url)

const selectClient = declare<{ clientId: string }, Client>('find_client')

/** A client, active or not, or null. */
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

/** Registers an active client. @returns false, and changes nothing, where the id is taken. */
export const insertClient = async (connection: Connection, client: NewClient): Promise<boolean> =>
  (await insert(connection, composeColumns(client))).length === 1

const upsert = declare<ClientColumns>('upsert_client')

/** Registers a client, or makes the one of this id so. One that is disabled stays disabled. */
export const upsertClient = async (connection: Connection, client: NewClient): Promise<void> => {
  await upsert(connection, composeColumns(client))
  await followSuspension(connection, client.clientId)
}

/** A client as its administrator sees it: no secret, nor anything made of one. */
export interface AdministeredClient extends Omit<NewClient, 'secretHash'> {
  readonly active: boolean
  readonly hasSecret: boolean
  readonly certificateBoundTokens: boolean
  /** Until when the secret before the last rotation is taken; null where it is not. */
  readonly previousSecretUntil: Date | null
  readonly createdAt: Date
  /** Counts how often it was given other ones. */
  readonly credentialsVersion: number
  /** When it was given those that it has. */
  readonly credentialsChangedAt: Date
  /** Until when a token may be good that was given for other credentials; null where none is. */
  readonly formerCredentialsUntil: Date | null
  readonly provenance: readonly ProvenanceAct[]
  /** Since when its webhooks get nothing, because it may not be notified; null where it may. */
  readonly deliveriesSuspendedSince: Date | null
  /** Products that it may issue cards of. */
  readonly productIds: readonly ProductId[]
}

interface ClientsAfter {
  readonly afterClientId: string
  readonly kind: ClientKind | null
  readonly limit: number
}

const selectClients = declare<ClientsAfter, AdministeredClient>('list_clients')

/** Clients, by their ids; of one kind, or of all. */
export const listClientRows = (
  connection: Connection,
  afterClientId: string,
  kind: ClientKind | null,
  limit: number,
): Promise<AdministeredClient[]> => selectClients(connection, { afterClientId, kind, limit })

const selectAdministered = declare<{ clientId: string }, AdministeredClient>(
  'find_administered_client',
)

/** A client, active or not, or null. */
export const findAdministeredClient = async (
  connection: Connection,
  clientId: string,
): Promise<AdministeredClient | null> =>
  firstRow(await selectAdministered(connection, { clientId }))

type ClientSettings = Pick<
  AdministeredClient,
  'clientId' | 'clientName' | 'scopes' | 'jwks' | 'active' | 'certificateBoundTokens'
>

const update = declare<ClientSettings>('update_client')

/**
 * Makes a client so. One that has keys has no secret; one that may not be notified gets no
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
 * Gives a client another secret; the one before is taken for so many hours more.
 * @returns until when it is; undefined where the client has keys in place of a secret.
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

/** Clients that may administer. */
export const countAdministrators = async (connection: Connection): Promise<number> =>
  firstRow(await countActive(connection, {}))?.count ?? 0
