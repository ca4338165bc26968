import { createHmac } from 'node:crypto'
import * as oidc from 'openid-client'
import { type Person, personIdOf, type Role } from '../../domain/person.ts'
import { Problem } from '../../domain/problem.ts'

/** How the console is known to the operators' issuer of identities. */
export interface RelyingPartyOptions {
  readonly issuer: string
  readonly clientId: string
  /** How it proves who it is; null: by nothing but PKCE, as with the sandbox's own issuer. */
  readonly clientAuthentication: oidc.ClientAuth | null
  /** Where the issuer sends people back to. */
  readonly redirectUri: string
  /** The claim that names a person's groups. */
  readonly groupsClaim: string
  /** Which roles the groups have. */
  rolesOf(groups: readonly string[]): readonly Role[]
  /** The way out of this service. */
  readonly fetch: oidc.CustomFetch
}

/** Somebody as an issuer knows them, and how they came. */
export interface SignedIn {
  readonly person: Person
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
   * @returns null where the issuer signed nobody in, or it is not the same browser.
   * @throws `Problem` `unavailable` where the issuer does not answer
   */
  finish(secret: string, query: string): Promise<Person | null>
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

/** All that a sign-in is bound to is drawn from its secret, so that nothing is kept of one that nobody finishes. */
const drawn = (secret: string, purpose: 'state' | 'nonce' | 'verifier'): string =>
  createHmac('sha256', secret).update(purpose).digest('base64url')

/** Signs people in by the code flow with PKCE (OpenID Connect Core 1.0 section 3.1, RFC 7636). No token is kept. */
export function createRelyingParty(options: RelyingPartyOptions): RelyingParty {
  const { clientAuthentication, clientId, issuer, redirectUri } = options
  let discovered: { readonly configuration: oidc.Configuration; readonly atMs: number } | null =
    null
  async function discover(): Promise<oidc.Configuration> {
    if (discovered && Date.now() - discovered.atMs < metadataMaxAgeMs) {
      return discovered.configuration
    }
    const configuration = await oidc.discovery(
      new URL(issuer),
      clientId,
      {},
      clientAuthentication ?? oidc.None(),
      {
        [oidc.customFetch]: options.fetch,
        timeout: timeoutSeconds,
        // Production refuses to start with an issuer by http.
        ...(issuer.startsWith('http:') && { execute: [oidc.allowInsecureRequests] }),
      },
    )
    discovered = { configuration, atMs: Date.now() }
    return configuration
  }
  const configured = () =>
    discover().catch((cause: unknown) => {
      const detail = 'The issuer of identities does not answer.'
      throw new Problem('unavailable', { detail, cause })
    })
  return {
    async begin(secret, { again, hint }) {
      const configuration = await configured()
      return oidc.buildAuthorizationUrl(configuration, {
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
      const url = new URL(`${redirectUri}?${query}`)
      const tokens = await oidc
        .authorizationCodeGrant(configuration, url, checks)
        .catch((error: unknown) => {
          const isRefusal =
            error instanceof oidc.AuthorizationResponseError ||
            error instanceof oidc.ResponseBodyError ||
            error instanceof oidc.ClientError
          if (isRefusal) return null
          throw error
        })
      const claims = tokens?.claims()
      return claims ? personOf(claims, options) : null
    },
  }
}

/** The person that an issuer's claims say, and the roles that the configuration has for its groups. */
export function personOf(
  claims: Readonly<Record<string, unknown>>,
  { groupsClaim, issuer, rolesOf }: Pick<RelyingPartyOptions, 'issuer' | 'groupsClaim' | 'rolesOf'>,
): Person | null {
  const { auth_time: authTime, sub: subject } = claims
  if (typeof subject !== 'string' || typeof authTime !== 'number') return null
  const groups = [claims[groupsClaim]].flat().filter((group) => typeof group === 'string')
  return {
    personId: personIdOf({ issuer, subject }),
    ...{ issuer, subject, name: nameOf(claims, subject) },
    roles: rolesOf(groups),
    authenticatedAt: new Date(authTime * 1_000),
  }
}

const nameLengthMax = 100

/** A name for people to read: one line, whatever it says. */
function nameOf(claims: Readonly<Record<string, unknown>>, subject: string): string {
  const { email, name, preferred_username: userName } = claims
  const given = [name, userName, email, subject].find((each) => typeof each === 'string' && each)
  const line = String(given)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
  return [...line].slice(0, nameLengthMax).join('') || 'nameless'
}
