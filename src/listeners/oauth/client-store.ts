import { type Adapter, type AdapterPayload, errors, type KoaContextWithOIDC } from 'oidc-provider'
import * as clientRules from '../../domain/client.ts'
import { findRsaJwkFault } from '../../domain/rsa-key.ts'
import { writeSecretHashes } from '../../operations/clients/credentials.ts'

/** A registered client, for issuing and verifying tokens. */
export interface RegisteredClient {
  readonly clientId: string
  readonly kind: clientRules.ClientKind
  /** The scopes that it is registered for. */
  readonly scopes: readonly string[]
  readonly active: boolean
  /** SHA-256 of its secret; null without a secret. */
  readonly secretHash: Uint8Array | null
  /** SHA-256 of the secret before the last rotation, while it is still accepted. */
  readonly previousSecretHash: Uint8Array | null
  /** Its public keys, a JWK Set as JSON text; null without keys. */
  readonly jwks: string | null
  /** Whether its tokens are bound to its TLS certificate (RFC 8705). */
  readonly certificateBoundTokens: boolean
}

/** An accepted assertion: no client may use one twice (RFC 7523 section 3, item 7). */
interface UsedAssertion {
  readonly clientId: string
  /** SHA-256 of its `jti`. */
  readonly jtiHash: Uint8Array
  readonly expiresAt: Date
}

/**
 * The client data that the token endpoint reads and records. This room does not know where it is
 * stored.
 */
export interface ClientRegister {
  /** Returns a client, active or not, or null. */
  findClient(clientId: string): Promise<RegisteredClient | null>
  /**
   * @returns false if the client has used this `jti` before: of several concurrent calls, one gets
   *   true.
   */
  rememberAssertion(assertion: UsedAssertion): Promise<boolean>
}

/** The members that this service adds to the client metadata of oidc-provider. */
export const clientMetadataExtensions = ['audience', 'grantable_scope']

/**
 * The storage for oidc-provider: clients are read, assertions are stored. Access tokens are
 * self-contained and not stored; other features of the library are not used.
 * @param onProved called with a client whose assertion was accepted: storing it is the last check.
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
      // Only the insert decides: a lookup before it would accept two concurrent uses of one jti.
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
  // Scopes of the other listener could never be used.
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

/** One method per client: a client with a key must not fall back to a secret. */
function selectAuthentication({
  jwks,
  previousSecretHash,
  secretHash,
}: RegisteredClient): AdapterPayload | undefined {
  if (jwks !== null) {
    // Keys that were registered before this check existed are checked here.
    const { keys }: { readonly keys: readonly Readonly<Record<string, unknown>>[] } =
      JSON.parse(jwks)
    const trusted = keys.filter((key) => findRsaJwkFault(key) === null)
    return { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: trusted } }
  }
  return secretHash === null
    ? undefined
    : {
        // The library then also accepts client_secret_post.
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

/** The maximum time until an assertion's `exp`, which bounds how long it is stored. */
const lifetimeLimitSeconds = 300
const clockToleranceSeconds = 15
const jtiLengthLimit = 255

/** The accepted media types of an assertion; many clients name none (RFC 7523). */
const assertionTypes = new Set([undefined, 'JWT', 'client-authentication+jwt'])

/**
 * Applies this service's rules for `private_key_jwt` assertions beyond the library's own checks of
 * signature, `iss`, `sub`, `exp` and `jti`: the audience is this issuer only, and the lifetime is
 * minutes (RFC 7523 section 3; draft-ietf-oauth-rfc7523bis section 4).
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
    // Another named server could replay the assertion here.
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
