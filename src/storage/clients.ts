import { type Connection, firstRow, type SqlValue, statement } from './database.ts'
import { followSuspension } from './suspensions.ts'

/** `client`: a client system on the public listener. The others belong to the private one. */
export type ClientKind = 'client' | 'network' | 'admin'

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
  /** Whether its tokens are bound to its TLS certificate (RFC 8705). Left out: they are not, or as before. */
  readonly certificateBoundTokens?: boolean
}

/** Someone who calls this service, as it is registered. */
export interface Client extends NewClient {
  readonly active: boolean
  /** SHA-256 of the secret before the last rotation, while it is still taken. */
  readonly previousSecretHash: Uint8Array | null
  readonly certificateBoundTokens: boolean
}

const findStatement = statement(
  'find_client',
  `select client_id as "clientId", client_name as "clientName", kind, scopes,
     secret_hash as "secretHash", jwks, active,
     case when previous_secret_until > now() then previous_secret_hash end as "previousSecretHash",
     certificate_bound_tokens as "certificateBoundTokens"
   from client where client_id = $1`,
)

/** A client, active or not, or null. */
export const findClient = async (
  connection: Connection,
  clientId: string,
): Promise<Client | null> => firstRow(await connection.query<Client>(findStatement, [clientId]))

const insertStatement = statement(
  'insert_client',
  `insert into client (client_id, client_name, kind, scopes, secret_hash, jwks,
     certificate_bound_tokens)
   values ($1, $2, $3, $4, $5, $6, coalesce($7, false))
   on conflict (client_id) do nothing
   returning client_id as "clientId"`,
)

/** Registers an active client. @returns false, and changes nothing, where the id is taken. */
export const insertClient = async (connection: Connection, client: NewClient): Promise<boolean> =>
  (await connection.query(insertStatement, columnsOf(client))).length === 1

const otherCredentials = `(client.secret_hash is distinct from excluded.secret_hash
  or client.jwks is distinct from excluded.jwks)`

const upsertStatement = statement(
  'upsert_client',
  `insert into client (client_id, client_name, kind, scopes, secret_hash, jwks,
     certificate_bound_tokens)
   values ($1, $2, $3, $4, $5, $6, coalesce($7, false))
   on conflict (client_id) do update set client_name = excluded.client_name,
     kind = excluded.kind, scopes = excluded.scopes,
     secret_hash = excluded.secret_hash, jwks = excluded.jwks,
     certificate_bound_tokens = coalesce($7, client.certificate_bound_tokens),
     credentials_version = client.credentials_version + case when ${otherCredentials} then 1 else 0 end,
     credentials_changed_at = case when ${otherCredentials}
       then excluded.credentials_changed_at else client.credentials_changed_at end`,
)

/** Registers a client, or makes the one of this id so. One that is disabled stays disabled. */
export const upsertClient = async (connection: Connection, client: NewClient): Promise<void> => {
  await connection.query(upsertStatement, columnsOf(client))
  await followSuspension(connection, client.clientId)
}

const setActiveStatement = statement(
  'set_client_active',
  'update client set active = $2 where client_id = $1 returning client_id as "clientId"',
)

/** Enables or disables a client. @returns false where there is no such client. */
export const setClientActive = async (
  connection: Connection,
  clientId: string,
  active: boolean,
): Promise<boolean> => {
  const isThere = (await connection.query(setActiveStatement, [clientId, active])).length === 1
  await followSuspension(connection, clientId)
  return isThere
}

const columnsOf = (client: NewClient): readonly SqlValue[] => [
  client.clientId,
  client.clientName,
  client.kind,
  client.scopes,
  client.secretHash,
  client.jwks,
  client.certificateBoundTokens ?? null,
]
