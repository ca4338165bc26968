import { createHmac } from 'node:crypto'
import { importJWK, type JWK } from 'jose'
import * as oidc from 'openid-client'
import { derivePersonId, type Person, type Role } from '../domain/person.ts'
import { Problem } from '../domain/problem.ts'
import { withoutWeakRsaKeys } from '../domain/rsa-key.ts'

/** The console's registration at the operators' issuer of identities. */
export interface RelyingPartyOptions {
  readonly issuer: string
  readonly clientId: string
  /**
   * The console's credentials: its secret or its private key; null for PKCE alone, as in the
   * sandbox.
   */
  readonly credentials: { readonly secret: string } | { readonly jwk: JWK } | null
  /** The issuer redirects people to this URL. */
  readonly redirectUri: string
  /** The claim that names a person's groups. */
  readonly groupsClaim: string
  /** Returns the roles of the groups. */
  listRoles(groups: readonly string[]): readonly Role[]
  /** Sends outgoing requests. */
  readonly fetch: oidc.CustomFetch
}

export interface RelyingParty {
  /**
   * Returns the URL of the sign-in at the issuer.
   * @param secret the sign-in's own secret, which the browser stores until it returns.
   * @throws `Problem` `unavailable` when the issuer does not answer
   */
  begin(secret: string, request: SignInRequest): Promise<URL>
  /**
   * Returns the person of a completed sign-in.
   * @param query the query of the redirect, unchanged
   * @returns `not_proved` when the query does not match the sign-in or was used before;
   *   `refused_by_issuer` when the issuer signed in no person.
   * @throws `Problem` `unavailable` when the issuer does not answer
   */
  finish(secret: string, query: string): Promise<Person | 'not_proved' | 'refused_by_issuer'>
}

interface SignInRequest {
  /** Whether the person must authenticate again despite a session at the issuer. */
  readonly again: boolean
  /** The person named by a sign-in link of the sandbox. */
  readonly hint: string | null
}

/** The maximum age of the authentication at the issuer: the lifetime of a session. */
const maxAgeSeconds = 8 * 3_600
const timeoutSeconds = 5
/** The maximum age of the issuer's metadata. */
const metadataMaxAgeMs = 3_600_000

/** Derives all values of a sign-in from its secret, so that unfinished sign-ins are not stored. */
const drawn = (secret: string, purpose: 'state' | 'nonce' | 'verifier'): string =>
  createHmac('sha256', secret).update(purpose).digest('base64url')

/**
 * Signs people in by the code flow with PKCE (OpenID Connect Core 1.0 section 3.1, RFC 7636).
 * Tokens are not stored.
 */
export function createRelyingParty(options: RelyingPartyOptions): RelyingParty {
  const { redirectUri } = options
  const configured = discovering(options)
  return {
    async begin(secret, { again, hint }) {
      return oidc.buildAuthorizationUrl(await configured(), {
        redirect_uri: redirectUri,
        scope: 'openid profile groups',
        state: drawn(secret, 'state'),
        nonce: drawn(secret, 'nonce'),
        code_challenge: await oidc.calculatePKCECodeChallenge(drawn(secret, 'verifier')),
        code_challenge_method: 'S256',
        max_age: String(maxAgeSeconds),
        ...(again && { prompt: 'login' }),
        ...(hint !== null && { login_hint: hint }),
      })
    },
    async finish(secret, query) {
      const configuration = await configured()
      const checks = {
        expectedState: drawn(secret, 'state'),
        expectedNonce: drawn(secret, 'nonce'),
        pkceCodeVerifier: drawn(secret, 'verifier'),
        maxAge: maxAgeSeconds,
      }
      try {
        const url = new URL(`${redirectUri}?${query}`)
        const tokens = await oidc.authorizationCodeGrant(configuration, url, checks)
        return (
          parsePerson(await fetchClaims(configuration, tokens, options), options) ?? 'not_proved'
        )
      } catch (error) {
        if (error instanceof oidc.AuthorizationResponseError) return 'refused_by_issuer'
        const isOfBrowser =
          error instanceof oidc.ResponseBodyError
            ? error.error === 'invalid_grant'
            : error instanceof oidc.ClientError && browserFaults.includes(error.code ?? '')
        // All other faults are the issuer's or the configuration's, and are logged.
        if (isOfBrowser) return 'not_proved'
        throw describeOutage(error)
      }
    },
  }
}

/** Returns the issuer's metadata, renewed from time to time. @throws `Problem` `unavailable` */
function discovering({ clientId, credentials, fetch: ask, issuer }: RelyingPartyOptions) {
  let discovered: { readonly configuration: oidc.Configuration; readonly atMs: number } | null =
    null
  return async (): Promise<oidc.Configuration> => {
    if (discovered && Date.now() - discovered.atMs < metadataMaxAgeMs) {
      return discovered.configuration
    }
    const authentication = await authenticationBy(credentials)
    let jwksAddress: string | undefined
    const configuration = await oidc
      .discovery(new URL(issuer), clientId, {}, authentication, {
        [oidc.customFetch]: async (address, request) => {
          const answer = await ask(address, request)
          // A weak key does not prove who signed an ID token.
          return new URL(address).href === jwksAddress && answer.ok
            ? Response.json(withoutWeakRsaKeys(await answer.json()))
            : answer
        },
        timeout: timeoutSeconds,
        execute: [
          // Signatures are verified although the token comes directly from the issuer.
          oidc.enableNonRepudiationChecks,
          // Production refuses to start with an issuer without TLS.
          ...(issuer.startsWith('http:') ? [oidc.allowInsecureRequests] : []),
        ],
      })
      .catch((cause: unknown) => {
        throw describeOutage(cause)
      })
    const { jwks_uri: jwksUri } = configuration.serverMetadata()
    // The library requests the normalized URL.
    jwksAddress = jwksUri && new URL(jwksUri).href
    discovered = { configuration, atMs: Date.now() }
    return configuration
  }
}

/** Reads the claims of a person. Some issuers return groups at the UserInfo endpoint only. */
async function fetchClaims(
  configuration: oidc.Configuration,
  tokens: Awaited<ReturnType<typeof oidc.authorizationCodeGrant>>,
  { groupsClaim }: Pick<RelyingPartyOptions, 'groupsClaim'>,
): Promise<Readonly<Record<string, unknown>>> {
  const claims: Readonly<Record<string, unknown>> = tokens.claims() ?? {}
  const { userinfo_endpoint: userInfo } = configuration.serverMetadata()
  if (Object.hasOwn(claims, groupsClaim) || userInfo === undefined) return claims
  const further = await oidc.fetchUserInfo(configuration, tokens.access_token, String(claims.sub))
  return { ...further, ...claims }
}

/**
 * The secret is sent in the header, unless the issuer accepts it in the form only (RFC 8414 section
 * 2).
 */
async function authenticationBy(
  credentials: RelyingPartyOptions['credentials'],
): Promise<oidc.ClientAuth> {
  if (credentials === null) return oidc.None()
  if ('secret' in credentials) {
    const basic = oidc.ClientSecretBasic(credentials.secret)
    const post = oidc.ClientSecretPost(credentials.secret)
    return (server, client, body, headers) => {
      const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
      const authenticate = methods.includes('client_secret_basic') ? basic : post
      return authenticate(server, client, body, headers)
    }
  }
  const { jwk } = credentials
  const algorithm = jwk.alg ?? { EC: 'ES256', OKP: 'Ed25519', RSA: 'PS256' }[String(jwk.kty)]
  const key = await importJWK(jwk, algorithm)
  if (key instanceof Uint8Array) throw new TypeError('The key of the console is not a private key.')
  return oidc.PrivateKeyJwt(jwk.kid === undefined ? key : { key, kid: jwk.kid })
}

/**
 * Faults of the browser's query: another state or code, another person's token, or an old token.
 */
const browserFaults = [
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
]

const describeOutage = (cause: unknown): Problem =>
  new Problem('unavailable', {
    detail: 'The identity provider does not answer, or its answer is not valid.',
    cause,
  })

/**
 * Returns the person in an issuer's claims, with the roles that the configuration maps to its
 * groups.
 */
export function parsePerson(
  claims: Readonly<Record<string, unknown>>,
  {
    groupsClaim,
    issuer,
    listRoles,
  }: Pick<RelyingPartyOptions, 'issuer' | 'groupsClaim' | 'listRoles'>,
): Person | null {
  const { auth_time: authTime, sub: subject } = claims
  if (typeof subject !== 'string' || subject === '') return null
  const groups = [claims[groupsClaim]].flat().filter((group) => typeof group === 'string')
  return {
    personId: derivePersonId({ issuer, subject }),
    issuer,
    subject,
    name: selectName(claims, subject),
    roles: listRoles(groups),
    authenticatedAt: new Date(isPastSecond(authTime) ? authTime * 1_000 : 0),
  }
}

/**
 * Whether a claimed time is past. Without a time, or with a future time, the authentication counts
 * as old. Clocks may differ by a minute.
 */
const isPastSecond = (time: unknown): time is number =>
  Number.isSafeInteger(time) && Number(time) >= 0 && Number(time) <= Date.now() / 1_000 + 60

const nameLengthMax = 100

/** Returns a displayed name of one line. */
function selectName(claims: Readonly<Record<string, unknown>>, subject: string): string {
  const { email, name, preferred_username: userName } = claims
  const given = [name, userName, email, subject].find((each) => typeof each === 'string' && each)
  const line = String(given)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
  return [...line].slice(0, nameLengthMax).join('') || 'nameless'
}
