import type { IncomingMessage, ServerResponse } from 'node:http'
import Provider, {
  type Client,
  type Configuration,
  errors,
  type KoaContextWithOIDC,
  type ResourceServer,
} from 'oidc-provider'
import { assertionAlgorithms } from '../../domain/client.ts'
import { Problem } from '../../domain/problem.ts'
import { matchesWrittenHashes } from '../../operations/clients/credentials.ts'
import type { AuthorizationServerOptions } from './authorization-server.ts'
import { clientCertificateOf } from './client-certificate.ts'
import {
  assertClientAssertion,
  clientMetadataExtensions,
  createClientAdapter,
} from './client-store.ts'
import type { TokenAttempt } from './token-attempts.ts'
import { externalSigningKey } from './token-signing-key.ts'

/** How long an access token is valid. */
const accessTokenLifetimeSeconds = 3_600

/** How a client may prove who it is. */
export const clientAuthenticationMethods = [
  'client_secret_basic',
  'client_secret_post',
  'private_key_jwt',
] as const

/**
 * Answers `POST /oauth/token` (RFC 6749 section 4.4) and nothing else: of all that oidc-provider can
 * do, only client credentials are switched on, and only this path is ever handed to it.
 */
export function createTokenEndpoint(
  options: AuthorizationServerOptions,
  path: string,
): (request: IncomingMessage, response: ServerResponse, attempt: TokenAttempt) => Promise<void> {
  const attempts = new WeakMap<ServerResponse, TokenAttempt>()
  const onProved = (clientId: string): void => {
    const ctx = Provider.ctx
    const attempt = ctx && attempts.get(ctx.res)
    // Not twice: from here on nothing that goes wrong is a failure to prove oneself.
    if (!attempt || !attempts.delete(ctx.res))
      throw new Error('A client was proved twice, or never asked.')
    ctx.set(attempt.succeeded(clientId))
  }
  const provider = new Provider(options.issuer, configurationOf(options, path, onProved))
  replaceClientChecks(provider, onProved)
  provider.use(async (ctx: KoaContextWithOIDC, next: () => Promise<void>) => {
    await next()
    shapeTokenAnswer(ctx, attempts.get(ctx.res) ?? null)
  })
  provider.on('server_error', (ctx, error) => {
    if (!isRefusal(error)) options.onError(error)
    answerServerError(ctx, error)
  })
  provider.on('grant.error', (_ctx, error) => {
    // The fault is in what is registered here, so the operator has to hear of it.
    if (error.error === 'invalid_client_metadata') options.onError(error)
  })
  provider.onerror = options.onError
  const answer = provider.callback()
  return async (request, response, attempt) => {
    attempts.set(response, attempt)
    await answer(request, response)
  }
}

/** A client that asks too often is no fault of this side. */
const isRefusal = (error: unknown): boolean =>
  error instanceof Problem && error.code === 'rate_limited'

/** The two seams that oidc-provider leaves for this: the stored hash, and `aud` as the issuer. */
function replaceClientChecks(provider: Provider, onProved: (clientId: string) => void): void {
  provider.Client.prototype.compareClientSecret = function (secret) {
    const isRight = matchesWrittenHashes(secret, this.clientSecret ?? '')
    if (isRight) onProved(this.clientId)
    return isRight
  }
  // The library's own set has an address made of the Host header, which a caller chooses.
  provider.OIDCContext.prototype.clientJwtAuthExpectedAudience = function () {
    return new Set([this.issuer])
  }
}

const configurationOf = (
  options: AuthorizationServerOptions,
  path: string,
  onProved: (clientId: string) => void,
): Configuration => ({
  adapter: createClientAdapter(options.database, options.audiences, onProved),
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
  features: features(options),
  // An error is JSON, whatever Accept says, and no default of the library writes to the console.
  renderError: (ctx, out) => {
    ctx.body = out
  },
  clientBasedCORS: () => true,
})

const features = (options: AuthorizationServerOptions): Configuration['features'] => ({
  clientCredentials: { enabled: true },
  // The acknowledged version: an update that changes the feature refuses to start.
  externalSigningSupport: { enabled: true, ack: 'experimental-01' },
  resourceIndicators: {
    enabled: true,
    defaultResource: (_ctx, client) => audienceOf(client),
    getResourceServerInfo: (ctx, resource, client) =>
      resourceServerOf(ctx, resource, client, options),
  },
  // On whatever the listeners speak: a client whose tokens are to be bound never gets another kind.
  mTLS: {
    enabled: true,
    certificateBoundAccessTokens: true,
    // By the answer: of the request there may be a copy, which has no connection.
    getCertificate: ({ res }) => clientCertificateOf(res.socket) ?? undefined,
  },
  devInteractions: { enabled: false },
  dPoP: { enabled: false },
  pushedAuthorizationRequests: { enabled: false },
  rpInitiatedLogout: { enabled: false },
  userinfo: { enabled: false },
})

/** The one resource that a client may ask for, with all scopes that it may have there. */
function resourceServerOf(
  ctx: KoaContextWithOIDC,
  resource: string,
  client: Client,
  { signingKeys }: AuthorizationServerOptions,
): ResourceServer {
  const audience = audienceOf(client)
  if (resource !== audience) throw new errors.InvalidTarget()
  const scope = String(client.grantable_scope)
  chooseScope(ctx.oidc.params ?? {}, scope)
  const kid = signingKeys[0]?.keyId
  return {
    audience,
    scope,
    accessTokenTTL: accessTokenLifetimeSeconds,
    accessTokenFormat: 'jwt',
    jwt: { sign: { alg: 'ES256', ...(kid !== undefined && { kid }) } },
  }
}

/**
 * Left out, the scope is all that the client has. The library drops a scope that it does not know
 * and grants the rest; here a client learns that it asked for more than it has.
 */
function chooseScope(parameters: Record<string, unknown>, grantable: string): void {
  parameters.scope ??= grantable || undefined
  const allowed = new Set(grantable.split(' '))
  const requested = String(parameters.scope ?? '').split(' ')
  if (parameters.scope !== undefined && !requested.every((scope) => allowed.has(scope))) {
    throw new errors.InvalidScope('The client does not have every scope that it asked for.', '')
  }
}

const audienceOf = (client: Client): string => String(client.audience)

/** The body of a refusal (RFC 6749 section 5.2). */
interface TokenError {
  readonly error: string
  readonly error_description?: string
}

/**
 * A failure that is told in problem documents elsewhere, as the token endpoint tells it. RFC 6749 has no code
 * for a client that is to come back later: `temporarily_unavailable` is its own for that, from section 4.1.2.1.
 */
export function tokenErrorOf({ detail, status, title }: Problem): TokenError {
  const laterOrNever = status === 500 ? 'server_error' : 'temporarily_unavailable'
  const error = status === 429 || status >= 500 ? laterOrNever : 'invalid_request'
  return { error, error_description: detail ?? title }
}

/**
 * Gives the answers of the library the form that RFC 6749 section 5 asks for.
 * @param unproved the attempt, where the client has not proved who it is
 */
function shapeTokenAnswer(ctx: KoaContextWithOIDC, unproved: TokenAttempt | null): void {
  ctx.set('Pragma', 'no-cache')
  removeCors(ctx)
  const refusal = readError(ctx.body)
  if (!refusal) return
  answerError(ctx, refusal)
  if (unproved && ctx.status < 500) chargeFailure(ctx, unproved)
}

/** All that fail are charged alike, whether or not there is such a client, and refused alike. */
function chargeFailure(ctx: KoaContextWithOIDC, attempt: TokenAttempt): void {
  try {
    ctx.set(attempt.failed())
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    ctx.remove('WWW-Authenticate')
    answerProblem(ctx, error)
  }
}

/**
 * Answers what the library takes for a fault of its own: 503 when something the server depends on is away,
 * 429 for a client that asks too often, else 500.
 */
function answerServerError(ctx: KoaContextWithOIDC, error: unknown): void {
  if (error instanceof Problem && ['unavailable', 'rate_limited'].includes(error.code)) {
    answerProblem(ctx, error)
  }
}

function answerProblem(ctx: KoaContextWithOIDC, problem: Problem): void {
  ctx.status = problem.status
  // What is away concerns nobody outside.
  ctx.body = tokenErrorOf(problem.status === 503 ? new Problem('unavailable') : problem)
  ctx.set(problem.headers)
}

function answerError(ctx: KoaContextWithOIDC, { error, error_description }: TokenError): void {
  const failedToAuthenticate = lacksAuthentication(ctx, error)
  if (failedToAuthenticate) ctx.status = 401
  if (ctx.status === 401) challenge(ctx)
  ctx.body = failedToAuthenticate
    ? { error: 'invalid_client', error_description: 'client authentication failed' }
    : { error, ...(error_description !== undefined && { error_description }) }
}

/** RFC 9110 section 15.5.2: a 401 names a scheme, even where the client tried another. */
const challenge = (ctx: KoaContextWithOIDC): void => {
  ctx.set('WWW-Authenticate', 'Basic realm="pinfold"')
}

/**
 * The library says `invalid_request` where no client is named or the Authorization header cannot be
 * read; RFC 6749 section 5.2 has `invalid_client` for both. More than one form of authentication,
 * which needs a parameter in the body, stays `invalid_request`.
 */
function lacksAuthentication({ oidc }: KoaContextWithOIDC, error: string): boolean {
  // A registered key that cannot be used lets nobody in, and its reason concerns nobody outside.
  if (error === 'invalid_client_metadata') return true
  if (error !== 'invalid_request' || !oidc.body || oidc.entities.Client) return false
  const { client_assertion, client_id, client_secret } = oidc.body
  return client_id === undefined && client_secret === undefined && client_assertion === undefined
}

/** Tokens are for servers: no page of another origin may read them. */
function removeCors(ctx: KoaContextWithOIDC): void {
  for (const name of Object.keys(ctx.response.headers)) {
    if (name.startsWith('access-control-') || name === 'vary') ctx.remove(name)
  }
}

const readError = (body: unknown): TokenError | undefined =>
  typeof body === 'object' && body !== null && 'error' in body ? (body as TokenError) : undefined
