import { createHmac } from 'node:crypto'
import { importJWK, type JWK } from 'jose'
import * as oidc from 'openid-client'
import { derivePersonId, type Person, type Role } from '../domain/person.ts'
import { Problem } from '../domain/problem.ts'
import { withoutWeakRsaKeys } from '../domain/rsa-key.ts'

/** How the console is known to the operators' issuer of identities. */
export interface RelyingPartyOptions {
  readonly issuer: string
  readonly clientId: string
  /**
   * How it proves who it is: by its secret, or its private key; null: by nothing but PKCE, as in
   * the sandbox.
   */
  readonly credentials: { readonly secret: string } | { readonly jwk: JWK } | null
  /** Where the issuer sends people back to. */
  readonly redirectUri: string
  /** The claim that names a person's groups. */
  readonly groupsClaim: string
  /** Which roles the groups have. */
  listRoles(groups: readonly string[]): readonly Role[]
  /** The way out of this service. */
  readonly fetch: oidc.CustomFetch
}

export interface RelyingParty {
  /**
   * Where a browser goes to sign in.
   * @param secret the sign-in's own, which the browser keeps until it is back.
   * @throws `Problem` `unavailable` where the issuer does not answer
   */
  begin(secret: string, request: SignInRequest): Promise<URL>
  /**
   * Who comes back.
   * @param query what the browser brings, as it came
   * @returns `not_proved` where what the browser brings is not what it was sent for, or was brought
   *   before; `refused_by_issuer` where the issuer says that it signed nobody in.
   * @throws `Problem` `unavailable` where the issuer does not answer
   */
  finish(secret: string, query: string): Promise<Person | 'not_proved' | 'refused_by_issuer'>
}

interface SignInRequest {
  /** Whether the person is to prove anew who they are, although the issuer knows them. */
  readonly again: boolean
  /** What a link of the sandbox says of who it is. */
  readonly hint: string | null
}

/** How old it may be that the issuer made sure who it is: as long as a session lasts. */
const maxAgeSeconds = 8 * 3_600
const timeoutSeconds = 5
/** How long what an issuer says of itself is used. */
const metadataMaxAgeMs = 3_600_000

/**
 * All that a sign-in is bound to is drawn from its secret, so that nothing is kept of one that
 * nobody finishes.
 */
const drawn = (secret: string, purpose: 'state' | 'nonce' | 'verifier'): string =>
  createHmac('sha256', secret).update(purpose).digest('base64url')

/**
 * Signs people in by the code flow with PKCE (OpenID Connect Core 1.0 section 3.1, RFC 7636). No
 * token is kept.
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
        // All else is the issuer's fault, or that of the configuration, and goes to the log.
        if (isOfBrowser) return 'not_proved'
        throw describeOutage(error)
      }
    },
  }
}

/** What the issuer says of itself, asked for now and then. @throws `Problem` `unavailable` */
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
          // An ID token that a weak key signed is signed by nobody.
          return new URL(address).href === jwksAddress && answer.ok
            ? Response.json(withoutWeakRsaKeys(await answer.json()))
            : answer
        },
        timeout: timeoutSeconds,
        execute: [
          // Signatures are looked at, although the token comes from the issuer itself.
          oidc.enableNonRepudiationChecks,
          // Production refuses to start with an issuer by http.
          ...(issuer.startsWith('http:') ? [oidc.allowInsecureRequests] : []),
        ],
      })
      .catch((cause: unknown) => {
        throw describeOutage(cause)
      })
    const { jwks_uri: jwksUri } = configuration.serverMetadata()
    // The library asks for the address in its normal form.
    jwksAddress = jwksUri && new URL(jwksUri).href
    discovered = { configuration, atMs: Date.now() }
    return configuration
  }
}

/** What the issuer says of a person. Some issuers tell groups at the UserInfo endpoint alone. */
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
 * A secret goes by the header, unless the issuer takes it in the form alone (RFC 8414 section 2).
 */
async function authenticationBy(
  credentials: RelyingPartyOptions['credentials'],
): Promise<oidc.ClientAuth> {
  if (credentials === null) return oidc.None()
  if ('secret' in credentials) {
    const [basic, post] = [
      oidc.ClientSecretBasic(credentials.secret),
      oidc.ClientSecretPost(credentials.secret),
    ]
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
 * What a browser can bring that is not right: another state or code, a token for somebody else, or
 * one too old.
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
 * The person that an issuer's claims say, and the roles that the configuration has for its groups.
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
 * Where nobody says when it was, or says a time to come, it was long ago. Clocks may be a minute
 * apart.
 */
const isPastSecond = (time: unknown): time is number =>
  Number.isSafeInteger(time) && Number(time) >= 0 && Number(time) <= Date.now() / 1_000 + 60

const nameLengthMax = 100

/** A name for people to read: one line, whatever it says. */
function selectName(claims: Readonly<Record<string, unknown>>, subject: string): string {
  const { email, name, preferred_username: userName } = claims
  const given = [name, userName, email, subject].find((each) => typeof each === 'string' && each)
  const line = String(given)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
  return [...line].slice(0, nameLengthMax).join('') || 'nameless'
}
