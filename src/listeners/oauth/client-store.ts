import { type Adapter, type AdapterPayload, errors, type KoaContextWithOIDC } from 'oidc-provider'
import {
  isClientId,
  isScope,
  type ListenerName,
  listenerOf,
  scopeListeners,
} from '../../domain/client.ts'
import { writeSecretHashes } from '../../operations/clients/credentials.ts'
import { rememberAssertion } from '../../storage/clients/assertions.ts'
import { type Client, findClient } from '../../storage/clients/clients.ts'
import type { Connection } from '../../storage/engine/database.ts'

/** What this service adds to the client metadata of oidc-provider. */
export const clientMetadataExtensions = ['audience', 'grantable_scope']

/**
 * The storage that oidc-provider asks: clients are read, assertions are remembered. Access tokens
 * are self-contained and stored nowhere, and nothing else of the library is in use.
 * @param onProved told of a client whose assertion was taken: remembering it is the last of its checks.
 */
export const createClientAdapter =
  (
    database: Connection,
    audiences: Readonly<Record<ListenerName, string>>,
    onProved: (clientId: string) => void,
  ) =>
  (model: string): Adapter => ({
    ...unusedAdapter(model),
    ...(model === 'Client' && { find: (clientId) => findMetadata(database, audiences, clientId) }),
    ...(model === 'ReplayDetection' && {
      // The insert alone decides: a look-up before it would let two of one jti through at once.
      find: async () => undefined,
      upsert: async (id, payload, expiresIn) => {
        await rememberOnce(database, id, payload, expiresIn)
        onProved(String(payload.iss))
      },
    }),
  })

async function findMetadata(
  database: Connection,
  audiences: Readonly<Record<ListenerName, string>>,
  clientId: string,
): Promise<AdapterPayload | undefined> {
  const client = isClientId(clientId) ? await findClient(database, clientId) : null
  const authentication = client?.active ? authenticationOf(client) : undefined
  if (!client || !authentication) return undefined
  return {
    client_id: client.clientId,
    grant_types: ['client_credentials'],
    response_types: [],
    redirect_uris: [],
    audience: audiences[listenerOf(client.kind)],
    grantable_scope: grantableScopes(client).join(' '),
    tls_client_certificate_bound_access_tokens: client.certificateBoundTokens,
    ...authentication,
  }
}

/** One method a client: what has a key must not fall back to a secret. */
function authenticationOf({
  jwks,
  previousSecretHash,
  secretHash,
}: Client): AdapterPayload | undefined {
  if (jwks !== null) {
    return { token_endpoint_auth_method: 'private_key_jwt', jwks: JSON.parse(jwks) }
  }
  return secretHash === null
    ? undefined
    : {
        // The library takes client_secret_post from such a client as well.
        token_endpoint_auth_method: 'client_secret_basic',
        client_secret: writeSecretHashes(secretHash, previousSecretHash),
      }
}

/** Scopes of the client's own listener: what belongs to the other could never be used. */
const grantableScopes = ({ kind, scopes }: Client): string[] =>
  scopes.filter((scope) => isScope(scope) && scopeListeners[scope] === listenerOf(kind))

async function rememberOnce(
  database: Connection,
  id: string,
  { iss }: AdapterPayload,
  expiresInSeconds = 0,
): Promise<void> {
  const unused = await rememberAssertion(database, {
    clientId: String(iss),
    jtiHash: Buffer.from(id, 'base64url'),
    expiresAt: new Date(Date.now() + expiresInSeconds * 1_000),
  })
  if (!unused) throw new errors.InvalidClientAuth('The assertion was used before.')
}

const unusedAdapter = (model: string): Adapter => {
  const refuse = async (): Promise<never> => {
    throw new Error(`oidc-provider asked for ${model}, which this service does not store.`)
  }
  return {
    find: refuse,
    upsert: refuse,
    destroy: refuse,
    consume: refuse,
    findByUid: refuse,
    findByUserCode: refuse,
    revokeByGrantId: refuse,
  }
}

/** How long before its `exp` an assertion may be used, which bounds how long it is remembered. */
const lifetimeLimitSeconds = 300
const clockToleranceSeconds = 15
const jtiLengthLimit = 255

/** Media types that an assertion may name; none is named by many clients (RFC 7523). */
const assertionTypes = new Set([undefined, 'JWT', 'client-authentication+jwt'])

/**
 * What this service asks of a `private_key_jwt` beyond the library's own checks of signature, `iss`,
 * `sub`, `exp` and `jti`: it is meant for this issuer alone and lives for minutes (RFC 7523
 * section 3; draft-ietf-oauth-rfc7523bis section 4).
 * @throws InvalidClientAuth
 */
export function assertClientAssertion(
  ctx: KoaContextWithOIDC,
  claims: Readonly<Record<string, unknown>>,
  header: Readonly<Record<string, unknown>>,
): void {
  const now = Math.floor(Date.now() / 1_000)
  const { aud, exp, iat, jti } = claims
  const accepted =
    isOnly(aud, ctx.oidc.issuer) &&
    (header.typ === undefined || assertionTypes.has(String(header.typ))) &&
    typeof exp === 'number' &&
    exp <= now + lifetimeLimitSeconds + clockToleranceSeconds &&
    (iat === undefined || (typeof iat === 'number' && iat <= now + clockToleranceSeconds)) &&
    typeof jti === 'string' &&
    jti.length <= jtiLengthLimit
  if (!accepted) throw new errors.InvalidClientAuth('The assertion breaks a rule of this service.')
}

/** An assertion that names other servers too could be replayed here by one of them. */
const isOnly = (audience: unknown, issuer: string): boolean =>
  audience === issuer ||
  (Array.isArray(audience) && audience.length === 1 && audience[0] === issuer)
