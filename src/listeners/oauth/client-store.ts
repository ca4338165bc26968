import { type Adapter, type AdapterPayload, errors, type KoaContextWithOIDC } from 'oidc-provider'
import * as clientRules from '../../domain/client.ts'
import { findRsaJwkFault } from '../../domain/rsa-key.ts'
import { writeSecretHashes } from '../../operations/clients/credentials.ts'

/** A registered client, as tokens are issued to it and verified. */
export interface RegisteredClient {
  readonly clientId: string
  readonly kind: clientRules.ClientKind
  /** Scopes that it is registered for. */
  readonly scopes: readonly string[]
  readonly active: boolean
  /** SHA-256 of its secret; null where it has none. */
  readonly secretHash: Uint8Array | null
  /** SHA-256 of the secret before the last rotation, while it is still accepted. */
  readonly previousSecretHash: Uint8Array | null
  /** Its public keys, a JWK Set as JSON text; null where it has none. */
  readonly jwks: string | null
  /** Whether its tokens are bound to its TLS certificate (RFC 8705). */
  readonly certificateBoundTokens: boolean
}

/** An assertion that was accepted: no client may use one twice (RFC 7523 section 3, item 7). */
interface UsedAssertion {
  readonly clientId: string
  /** SHA-256 of its `jti`. */
  readonly jtiHash: Uint8Array
  readonly expiresAt: Date
}

/**
 * What the token endpoint reads and records of clients. Where that is kept, this room does not
 * know.
 */
export interface ClientRegister {
  /** A client, active or not, or null. */
  findClient(clientId: string): Promise<RegisteredClient | null>
  /**
   * @returns false where the client has used this `jti` before: of many that race, one gets true.
   */
  rememberAssertion(assertion: UsedAssertion): Promise<boolean>
}

/** What this service adds to the client metadata of oidc-provider. */
export const clientMetadataExtensions = ['audience', 'grantable_scope']

/**
 * The storage that oidc-provider asks: clients are read, assertions are remembered. Access tokens
 * are self-contained and stored nowhere, and nothing else of the library is in use.
 * @param onProved called with a client whose assertion was taken: remembering it is the last of its
 *   checks.
 */
export const createClientAdapter =
  (
    clients: ClientRegister,
    audiences: Readonly<Record<clientRules.ListenerName, string>>,
    onProved: (clientId: string) => void,
  ) =>
  (model: string): Adapter => ({
    ...unusedAdapter(model),
    ...(model === 'Client' && { find: (clientId) => findMetadata(clients, audiences, clientId) }),
    ...(model === 'ReplayDetection' && {
      // The insert alone decides: a look-up before it would let two of one jti through at once.
      find: async () => undefined,
      upsert: async (id, { iss }, expiresInSeconds = 0) => {
        const clientId = String(iss)
        const isFirstUse = await clients.rememberAssertion({
          clientId,
          jtiHash: Buffer.from(id, 'base64url'),
          expiresAt: new Date(Date.now() + expiresInSeconds * 1_000),
        })
        if (!isFirstUse) throw new errors.InvalidClientAuth('The assertion was used before.')
        onProved(clientId)
      },
    }),
  })

async function findMetadata(
  clients: ClientRegister,
  audiences: Readonly<Record<clientRules.ListenerName, string>>,
  clientId: string,
): Promise<AdapterPayload | undefined> {
  const client = clientRules.isClientId(clientId) ? await clients.findClient(clientId) : null
  const authentication = client?.active ? selectAuthentication(client) : undefined
  if (!client || !authentication) return undefined
  const listener = clientRules.selectListener(client.kind)
  // What belongs to the other listener could never be used.
  const grantable = client.scopes.filter(
    (scope) => clientRules.isScope(scope) && clientRules.selectScopeListener(scope) === listener,
  )
  return {
    client_id: client.clientId,
    grant_types: ['client_credentials'],
    response_types: [],
    redirect_uris: [],
    audience: audiences[listener],
    grantable_scope: grantable.join(' '),
    tls_client_certificate_bound_access_tokens: client.certificateBoundTokens,
    ...authentication,
  }
}

/** One method a client: what has a key must not fall back to a secret. */
function selectAuthentication({
  jwks,
  previousSecretHash,
  secretHash,
}: RegisteredClient): AdapterPayload | undefined {
  if (jwks !== null) {
    // Keys that were registered before they were judged are judged here.
    const { keys }: { readonly keys: readonly Readonly<Record<string, unknown>>[] } =
      JSON.parse(jwks)
    const trusted = keys.filter((key) => findRsaJwkFault(key) === null)
    return { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: trusted } }
  }
  return secretHash === null
    ? undefined
    : {
        // The library takes client_secret_post from such a client as well.
        token_endpoint_auth_method: 'client_secret_basic',
        client_secret: writeSecretHashes(secretHash, previousSecretHash),
      }
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
 * What this service asks of a `private_key_jwt` beyond the library's own checks of signature,
 * `iss`, `sub`, `exp` and `jti`: it is meant for this issuer alone and lives for minutes (RFC 7523
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
  const audiences = [aud].flat()
  const accepted =
    // One that names other servers, too, could be replayed here by one of them.
    audiences.length === 1 &&
    audiences[0] === ctx.oidc.issuer &&
    (header.typ === undefined || assertionTypes.has(String(header.typ))) &&
    typeof exp === 'number' &&
    exp <= now + lifetimeLimitSeconds + clockToleranceSeconds &&
    (iat === undefined || (typeof iat === 'number' && iat <= now + clockToleranceSeconds)) &&
    typeof jti === 'string' &&
    jti.length <= jtiLengthLimit
  if (!accepted) throw new errors.InvalidClientAuth('The assertion breaks a rule of this service.')
}
