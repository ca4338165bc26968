import type { ProvenanceAct } from '../domain/provenance.ts'
import type { ClientKind, NewClient } from './clients.ts'
import { type Connection, firstRow, statement } from './database.ts'
import { followSuspension } from './suspensions.ts'

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
  /** Since when its webhooks get nothing, because it may be told nothing; null where it may. */
  readonly deliveriesSuspendedSince: Date | null
  /** Products that it may issue cards of. */
  readonly productIds: readonly number[]
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
  array(select product_id from client_product granted where granted.client_id = client.client_id
    order by product_id) as "productIds"`

const listStatement = statement(
  'list_clients',
  `select ${columns} from client
   where client_id > $1 and ($2::text is null or kind = $2) order by client_id limit $3`,
)

/** Clients, by their ids; of one kind, or of all. */
export const listClients = (
  connection: Connection,
  afterClientId: string,
  kind: ClientKind | null,
  limit: number,
): Promise<AdministeredClient[]> => connection.query(listStatement, [afterClientId, kind, limit])

const findStatement = statement(
  'find_administered_client',
  `select ${columns} from client where client_id = $1`,
)

/** A client, active or not, or null. */
export const findAdministeredClient = async (
  connection: Connection,
  clientId: string,
): Promise<AdministeredClient | null> => firstRow(await connection.query(findStatement, [clientId]))

export type ClientSettings = Pick<
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

/** Makes a client so. One that has keys has no secret; one that may be told nothing gets no deliveries. */
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
  `update client set secret_hash = $2,
     previous_secret_hash = case when $3::integer > 0 then secret_hash end,
     previous_secret_until = case when $3::integer > 0 and secret_hash is not null
       then now() + make_interval(hours => $3::integer) end
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
