import type { X509Certificate } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import Provider, {
  type Client,
  type Configuration,
  errors,
  type KoaContextWithOIDC,
  type ResourceServer,
} from 'oidc-provider'
import { assertionAlgorithms, type ListenerName } from '../../domain/client.ts'
import { Problem } from '../../domain/problem.ts'
import { matchesWrittenHashes } from '../../operations/clients/credentials.ts'
import {
  assertClientAssertion,
  type ClientRegister,
  clientMetadataExtensions,
  createClientAdapter,
} from './client-store.ts'
import { externalSigningKey, type OauthSigningKey } from './token-signing-key.ts'

export interface TokenEndpointOptions {
  /** `BASE_URL`: https, or http on loopback; no query, no fragment, no slash at its end. */
  readonly issuer: string
  /** `aud` of the tokens for each listener: absolute URIs without fragment (RFC 8707 section 2). */
  readonly audiences: Readonly<Record<ListenerName, string>>
  readonly clients: ClientRegister
  /** At least one. The first signs, all are published. */
  readonly signingKeys: readonly OauthSigningKey[]
  /**
   * Returns the verified certificate of the caller's connection, which its token can be bound to.
   * Null if the endpoint requests no certificates.
   */
  readonly findClientCertificate: ((socket: Socket | null) => X509Certificate | null) | null
  /**
   * Called with faults of this service, for the log: a 500, a 503, or an unusable registered key.
   */
  onError(error: unknown): void
}

/** The response headers of an outcome; names in lower case. */
type OutcomeHeaders = Readonly<Record<string, string>>

/**
 * A client's attempt to get a token, for counting. Before authentication, the request proves
 * nothing about the client that it names.
 */
export interface TokenAttempt {
  /**
   * The client has authenticated.
   * @throws `Problem` `rate_limited` if its limit is reached.
   */
  succeeded(clientId: string): OutcomeHeaders
  /**
   * The client has failed to authenticate.
   * @throws `Problem` `rate_limited` after too many failures.
   */
  failed(): OutcomeHeaders
}

/** The lifetime of an access token. */
const accessTokenLifetimeSeconds = 3_600

/** The methods of client authentication. */
export const clientAuthenticationMethods = [
  'client_secret_basic',
  'client_secret_post',
  'private_key_jwt',
] as const

/**
 * Answers `POST /oauth/token` (RFC 6749 section 4.4) only: of oidc-provider's features, only client
 * credentials are enabled, and only this path is passed to it.
 */
export function createTokenEndpoint(
  options: TokenEndpointOptions,
  path: string,
): (request: IncomingMessage, response: ServerResponse, attempt: TokenAttempt) => Promise<void> {
  const attempts = new WeakMap<ServerResponse, TokenAttempt>()
  const onProved = (clientId: string): void => {
    const ctx = Provider.ctx
    const attempt = ctx && attempts.get(ctx.res)
    // Counted once: later faults are not failed authentications.
    if (!attempt || !attempts.delete(ctx.res))
      throw new Error('A client was proved twice, or never asked.')
    ctx.set(attempt.succeeded(clientId))
  }
  const provider = new Provider(options.issuer, createConfiguration(options, path, onProved))
  // The two extension points of oidc-provider for this: the stored hash, and `aud` as the issuer.
  provider.Client.prototype.compareClientSecret = function (secret) {
    const isRight = matchesWrittenHashes(secret, this.clientSecret ?? '')
    if (isRight) onProved(this.clientId)
    return isRight
  }
  // The library's own set contains an address from the Host header, which a caller chooses.
  provider.OIDCContext.prototype.clientJwtAuthExpectedAudience = function () {
    return new Set([this.issuer])
  }
  provider.use(async (ctx: KoaContextWithOIDC, next: () => Promise<void>) => {
    await next()
    shapeTokenAnswer(ctx, attempts.get(ctx.res) ?? null)
  })
  provider.on('server_error', (ctx, error) => {
    const code = error instanceof Problem ? error.code : null
    // A client that exceeds its rate is not a fault of this service.
    if (code !== 'rate_limited') options.onError(error)
    // 503 during an outage of a dependency; the library itself answers 500.
    if (error instanceof Problem && (code === 'unavailable' || code === 'rate_limited')) {
      answerProblem(ctx, error)
    }
  })
  provider.on('grant.error', (_ctx, error) => {
    // The fault is in the registration, so the operator must learn of it.
    if (error.error === 'invalid_client_metadata') options.onError(error)
  })
  provider.onerror = options.onError
  const answer = provider.callback()
  return async (request, response, attempt) => {
    attempts.set(response, attempt)
    await answer(request, response)
  }
}

const createConfiguration = (
  options: TokenEndpointOptions,
  path: string,
  onProved: (clientId: string) => void,
): Configuration => ({
  adapter: createClientAdapter(options.clients, options.audiences, onProved),
  jwks: { keys: options.signingKeys.map(externalSigningKey) },
  routes: { token: path },
  clientAuthMethods: [...clientAuthenticationMethods],
  enabledJWA: { clientAuthSigningAlgValues: [...assertionAlgorithms] },
  assertJwtClientAuthClaimsAndHeader: assertClientAssertion,
  extraClientMetadata: { properties: clientMetadataExtensions },
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  scopes: [],
  responseTypes: [],
  ttl: { ClientCredentials: accessTokenLifetimeSeconds },
  features: {
    clientCredentials: { enabled: true },
    // The acknowledged version: an update that changes the feature refuses to start.
    externalSigningSupport: { enabled: true, ack: 'experimental-01' },
    resourceIndicators: {
      enabled: true,
      defaultResource: (_ctx, client) => readAudience(client),
      getResourceServerInfo: (ctx, resource, client) =>
        createResourceServer(ctx, resource, client, options),
    },
    // Also without TLS: a client with bound tokens never gets an unbound one.
    mTLS: {
      enabled: true,
      certificateBoundAccessTokens: true,
      // From the response, because the request may be a copy without a connection.
      getCertificate: ({ res }) => options.findClientCertificate?.(res.socket) ?? undefined,
    },
    devInteractions: { enabled: false },
    dPoP: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    userinfo: { enabled: false },
  },
  // An error is JSON, whatever Accept contains, and no default of the library writes to the
  // console.
  renderError: (ctx, out) => {
    ctx.body = out
  },
  clientBasedCORS: () => true,
})

/** Returns the only resource of a client, with all scopes that it may have there. */
function createResourceServer(
  ctx: KoaContextWithOIDC,
  resource: string,
  client: Client,
  { signingKeys }: TokenEndpointOptions,
): ResourceServer {
  const audience = readAudience(client)
  if (resource !== audience) throw new errors.InvalidTarget()
  const scope = String(client.grantable_scope)
  const parameters = ctx.oidc.params ?? {}
  // By default, the scope is all that the client has. The library ignores unknown scopes and grants
  // the rest; here the client learns that it requested too much.
  parameters.scope ??= scope || undefined
  const allowed = new Set(scope.split(' '))
  const requested = String(parameters.scope ?? '').split(' ')
  if (parameters.scope !== undefined && !requested.every((each) => allowed.has(each))) {
    throw new errors.InvalidScope('The client does not have every requested scope.', '')
  }
  const kid = signingKeys[0]?.keyId
  return {
    audience,
    scope,
    accessTokenTTL: accessTokenLifetimeSeconds,
    accessTokenFormat: 'jwt',
    jwt: { sign: { alg: 'ES256', ...(kid !== undefined && { kid }) } },
  }
}

const readAudience = (client: Client): string => String(client.audience)

/** The body of a refusal (RFC 6749 section 5.2). */
interface TokenError {
  readonly error: string
  readonly error_description?: string
}

/**
 * Converts a problem to an error of the token endpoint. RFC 6749 has no code for a client that
 * should retry later; `temporarily_unavailable` is its code for that in section 4.1.2.1.
 */
export function toTokenError({ detail, status, title }: Problem): TokenError {
  const laterOrNever = status === 500 ? 'server_error' : 'temporarily_unavailable'
  const error = status === 429 || status >= 500 ? laterOrNever : 'invalid_request'
  return { error, error_description: detail ?? title }
}

/**
 * Gives the answers of the library the form of RFC 6749 section 5.
 * @param unproved the attempt, if the client has not authenticated
 */
function shapeTokenAnswer(ctx: KoaContextWithOIDC, unproved: TokenAttempt | null): void {
  ctx.set('Pragma', 'no-cache')
  // Tokens are for servers: no page of another origin may read them.
  for (const name of Object.keys(ctx.response.headers)) {
    if (name.startsWith('access-control-') || name === 'vary') ctx.remove(name)
  }
  const body: unknown = ctx.body
  if (typeof body !== 'object' || body === null || !('error' in body)) return
  answerRefusal(ctx, body as TokenError)
  if (!unproved || ctx.status >= 500) return
  try {
    // All failures are charged and refused alike, whether or not the client exists.
    ctx.set(unproved.failed())
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    ctx.remove('WWW-Authenticate')
    answerProblem(ctx, error)
  }
}

function answerProblem(ctx: KoaContextWithOIDC, problem: Problem): void {
  ctx.status = problem.status
  // The failed dependency is not disclosed.
  ctx.body = toTokenError(problem.status === 503 ? new Problem('unavailable') : problem)
  ctx.set(problem.headers)
}

/** One text for every reason: a distinction would tell which client ids exist. */
const unauthenticatedClient =
  'The client authentication failed. Check the client id, its secret or key, the method of ' +
  'authentication, and that the client is not disabled.'

function answerRefusal(ctx: KoaContextWithOIDC, { error, error_description }: TokenError): void {
  const failedToAuthenticate = lacksAuthentication(ctx, error)
  if (failedToAuthenticate) ctx.status = 401
  // RFC 9110 section 15.5.2: a 401 names a scheme, even if the client tried another.
  if (ctx.status === 401) ctx.set('WWW-Authenticate', 'Basic realm="pinfold"')
  ctx.body =
    failedToAuthenticate || error === 'invalid_client'
      ? { error: 'invalid_client', error_description: unauthenticatedClient }
      : { error, ...(error_description !== undefined && { error_description }) }
}

/**
 * The library answers `invalid_request` if no client is named or the Authorization header is
 * unreadable; RFC 6749 section 5.2 has `invalid_client` for both. Several forms of authentication
 * at once, which need a parameter in the body, stay `invalid_request`.
 */
function lacksAuthentication({ oidc }: KoaContextWithOIDC, error: string): boolean {
  // An unusable registered key authenticates no client, and the reason is not disclosed.
  if (error === 'invalid_client_metadata') return true
  if (error !== 'invalid_request' || !oidc.body || oidc.entities.Client) return false
  const { client_assertion, client_id, client_secret } = oidc.body
  return client_id === undefined && client_secret === undefined && client_assertion === undefined
}
