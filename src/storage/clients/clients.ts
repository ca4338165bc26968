import type { ClientKind, ProvenanceAct } from '../../domain/client.ts'
import type { ProductId } from '../../domain/identifiers.ts'
import { type Connection, firstRow, type SqlValue, statement } from '../engine/database.ts'
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
  /** Until when a token may be good that was given for other credentials; null where none is. */
  readonly formerCredentialsUntil: Date | null
  readonly provenance: readonly ProvenanceAct[]
  /** Since when its webhooks get nothing, because it may not be notified; null where it may. */
  readonly deliveriesSuspendedSince: Date | null
  /** Products that it may issue cards of. */
  readonly productIds: readonly ProductId[]
}

// A token is good for an hour, and clocks may differ by a minute.
const formerUntil = `case when credentials_version > 1
  then greatest(credentials_changed_at, previous_secret_until) + interval '61 minutes' end`

const columns = `client_id as "clientId", client_name as "clientName", kind, scopes, jwks, active,
  certificate_bound_tokens as "certificateBoundTokens",
  secret_hash is not null as "hasSecret",
  case when previous_secret_until > now() then previous_secret_until end as "previousSecretUntil",
  created_at as "createdAt", credentials_version as "credentialsVersion",
  case when ${formerUntil} > now() then ${formerUntil} end as "formerCredentialsUntil",
  coalesce((select json_agg(json_build_object('act', act, 'by', by_client_id,
      'controlledBy', controlled_by) order by acted_at, by_client_id)
    from client_provenance known where known.client_id = client.client_id), '[]') as "provenance",
  case when kind = 'client' and not receives_events then deliveries_suspended_at end
    as "deliveriesSuspendedSince",
  coalesce(product_ids, '{}') as "productIds"`

/** Clients with their products. @param asked has their ids. */
const administered = (asked: string): string =>
  `with asked as materialized (${asked}), granted as materialized (
     select client_id, array_agg(product_id order by product_id) as product_ids from client_product
     where client_id = any(array(select client_id from asked)) group by client_id
   )
   select ${columns} from client left join granted using (client_id)
   where client_id = any(array(select client_id from asked)) order by client_id`

const listStatement = statement(
  'list_clients',
  administered(`select client_id from client
     where client_id > $1 and ($2::text is null or kind = $2) order by client_id limit $3`),
)

/** Clients, by their ids; of one kind, or of all. */
export const findClients = (
  connection: Connection,
  afterClientId: string,
  kind: ClientKind | null,
  limit: number,
): Promise<AdministeredClient[]> => connection.query(listStatement, [afterClientId, kind, limit])

const findAdministeredStatement = statement(
  'find_administered_client',
  administered('select $1::text as client_id'),
)

/** A client, active or not, or null. */
export const findAdministeredClient = async (
  connection: Connection,
  clientId: string,
): Promise<AdministeredClient | null> =>
  firstRow(await connection.query(findAdministeredStatement, [clientId]))

type ClientSettings = Pick<
  AdministeredClient,
  'clientId' | 'clientName' | 'scopes' | 'jwks' | 'active' | 'certificateBoundTokens'
>

const updateStatement = statement(
  'update_client',
  `update client set client_name = $2, scopes = $3, jwks = $4, active = $5,
     certificate_bound_tokens = $6,
     secret_hash = case when $4::text is null then secret_hash end,
     previous_secret_hash = case when $4::text is null then previous_secret_hash end,
     previous_secret_until = case when $4::text is null then previous_secret_until end
   where client_id = $1`,
)

/** Makes a client so. One that has keys has no secret; one that may not be notified gets no deliveries. */
export const updateClient = async (
  connection: Connection,
  { active, certificateBoundTokens, clientId, clientName, jwks, scopes }: ClientSettings,
): Promise<void> => {
  await connection.query(updateStatement, [
    clientId,
    clientName,
    scopes,
    jwks,
    active,
    certificateBoundTokens,
  ])
  await followSuspension(connection, clientId)
}

const replaceSecretStatement = statement(
  'replace_client_secret',
  `with overlap as materialized (select now() + make_interval(hours => $3::integer) as ends_at)
   update client set secret_hash = $2,
     previous_secret_hash = case when $3::integer > 0 then secret_hash end,
     previous_secret_until = case when $3::integer > 0 and secret_hash is not null then ends_at end
   from overlap
   where client_id = $1 and jwks is null
   returning previous_secret_until as "previousSecretUntil"`,
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
  const rows = await connection.query<{ previousSecretUntil: Date | null }>(
    replaceSecretStatement,
    [clientId, secretHash, overlapHours],
  )
  return rows[0]?.previousSecretUntil
}

const countStatement = statement(
  'count_administrators',
  `select count(*)::integer as "count" from client
   where kind = 'admin' and active and 'admin' = any (scopes)
     and (secret_hash is not null or jwks is not null)`,
)

/** Clients that may administer. */
export const countAdministrators = async (connection: Connection): Promise<number> =>
  firstRow<{ count: number }>(await connection.query(countStatement))?.count ?? 0
