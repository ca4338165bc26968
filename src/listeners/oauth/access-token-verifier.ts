import { hash, timingSafeEqual } from 'node:crypto'
import { errors, type JWK, type JWTPayload, jwtVerify } from 'jose'
import { LRUCache } from 'lru-cache'
import type { ApprovedCall } from '../../domain/approval.ts'
import {
  type ClientKind,
  isClientId,
  type ListenerName,
  selectListener,
} from '../../domain/client.ts'
import { toMembers } from '../../domain/members.ts'
import { listPersonScopes, type Person } from '../../domain/person.ts'
import { Problem } from '../../domain/problem.ts'
import type { RegisteredClient } from './client-store.ts'
import { discoveredKeys, type FetchJson, type IssuerKeys, localKeys } from './issuer-keys.ts'

/** The caller, as the access token and the client registration define it together. */
export interface Caller {
  readonly clientId: string
  readonly kind: ClientKind
  /** The scopes of both the token and the client's registration. */
  readonly scopes: ReadonlySet<string>
  /** The expiry of the token, at which its streams end, too. */
  readonly expiresAt: Date
  /**
   * The thumbprint of the certificate that the token is bound to (RFC 8705); null if it is not
   * bound.
   */
  readonly boundThumbprint: string | null
  /** The person, if a person calls and not a program. */
  readonly person: Person | null
  /** The approved request of the call. Only this process makes such calls, and no token can. */
  readonly carriesOut?: ApprovedCall
}

export interface AccessTokenVerifierOptions {
  readonly issuer: string
  readonly audience: string
  /** The listener. Clients of the other listener are rejected. */
  readonly listener: ListenerName
  /** The embedded issuer's keys, or how to discover those of an outside issuer. */
  readonly keys: readonly JWK[] | { readonly discoverFrom: string; readonly fetchJson: FetchJson }
  /** The claim that names the client; by default `client_id` (RFC 9068 section 2.2). */
  readonly clientClaim?: string
  findClient(clientId: string): Promise<RegisteredClient | null>
  /**
   * Finds the person of a token from an issuer of people's tokens; null if the person has no
   * access.
   */
  findPerson?(claims: Readonly<Record<string, unknown>>): Person | null
  /** The clock of the machine, never the movable one, because it dates tokens. */
  now?(): Date
}

export interface AccessTokenVerifier {
  /**
   * Verifies an `Authorization` header (RFC 6750 section 2.1).
   * @param presented the thumbprint of the connection's certificate
   * @throws Problem `unauthenticated`, or `unavailable` during an outage of the database or the
   *   issuer.
   */
  verify(authorizationHeader: string | undefined, presented?: string | null): Promise<Caller>
}

/** A caller, and when the verification expires. */
interface Verified {
  readonly caller: Caller
  readonly untilMs: number
}

type Verify = (header: string) => Promise<Caller>

/** The time after which a disabled client, and tokens of its former credentials, are rejected. */
const cacheLifetimeMs = 60_000
const cacheSizeLimit = 10_000

/**
 * Creates a verifier of access tokens (RFC 9068 section 4): signature, `alg` from a fixed list,
 * `typ`, `iss`, `aud`, `exp`, and an active registered client. Verified tokens are cached by hash
 * for at most 60 s; refusals are not cached.
 */
export function createAccessTokenVerifier(
  options: AccessTokenVerifierOptions,
): AccessTokenVerifier {
  const now = options.now ?? (() => new Date())
  const keys =
    'discoverFrom' in options.keys
      ? discoveredKeys(options.keys.fetchJson, options.keys.discoverFrom)
      : localKeys(options.keys)
  const verify = remembering(now, async (header) =>
    verifyToken(options, keys, now(), bearerToken(header)),
  )
  return {
    async verify(header = '', presented = null) {
      if (!/^bearer( |$)/i.test(header)) {
        // Only the challenge, without an error (RFC 6750 section 3.1, last paragraph).
        const headers = { 'www-authenticate': 'Bearer realm="pinfold"' }
        const detail = header === '' ? reasons.noHeader : reasons.otherScheme
        throw new Problem('unauthenticated', { detail, headers })
      }
      const caller = await verify(header)
      // Never cached: another connection may have another certificate.
      const { boundThumbprint: bound } = caller
      const isSame =
        bound === null ||
        (presented?.length === bound.length &&
          timingSafeEqual(Buffer.from(bound), Buffer.from(presented)))
      if (!isSame) throw invalidToken(reasons.otherCertificate)
      return caller
    },
  }
}

/** Verifies each header once within its token's time, even for concurrent requests. */
function remembering(now: () => Date, verify: Verify): Verify {
  const verified = new LRUCache<string, Verified>({ max: cacheSizeLimit })
  const running = new Map<string, Promise<Caller>>()
  const ask = async (key: string, header: string): Promise<Caller> => {
    // Measured from before the lookup, so that 60 s is the limit whatever its duration.
    const limitMs = now().getTime() + cacheLifetimeMs
    const caller = await verify(header)
    verified.set(key, { caller, untilMs: Math.min(limitMs, caller.expiresAt.getTime()) })
    return caller
  }
  return (header) => {
    // No token stays in memory longer than its request. Different spellings of the header share one
    // key.
    const key = hash('sha256', header.slice(schemeLength).trim(), 'base64')
    const known = verified.get(key)
    if (known && now().getTime() < known.untilMs) return Promise.resolve(known.caller)
    const asking =
      running.get(key) ??
      ask(key, header).finally(() => {
        running.delete(key)
      })
    running.set(key, asking)
    return asking
  }
}

async function verifyToken(
  { audience, clientClaim, findClient, issuer, listener, findPerson }: AccessTokenVerifierOptions,
  { algorithms, find }: IssuerKeys,
  currentDate: Date,
  token: string,
): Promise<Caller> {
  const { payload } = await jwtVerify(token, find, {
    algorithms: [...algorithms],
    typ: 'at+jwt',
    issuer,
    audience,
    requiredClaims: ['exp'],
    currentDate,
  }).catch((error: unknown) => {
    throw error instanceof errors.JOSEError ? invalidToken(findReason(error), error) : error
  })
  if (findPerson) return createPersonCaller(findPerson(payload), payload)
  const clientId = payload[clientClaim ?? 'client_id']
  const client = isClientId(clientId) ? await findClient(clientId) : null
  if (!client?.active || selectListener(client.kind) !== listener || payload.exp === undefined) {
    throw invalidToken(reasons.invalid)
  }
  const boundThumbprint = parseBoundThumbprint(payload.cnf)
  // Also if an outside issuer ignores the setting, and for tokens from before it.
  if (client.certificateBoundTokens && boundThumbprint === null) {
    throw invalidToken(reasons.notBound)
  }
  // RFC 9068 section 2.2.3: one string, separated by spaces.
  const granted = typeof payload.scope === 'string' ? payload.scope.split(' ') : []
  return {
    clientId: client.clientId,
    kind: client.kind,
    scopes: new Set(granted.filter((scope) => client.scopes.includes(scope))),
    expiresAt: new Date(payload.exp * 1_000),
    boundThumbprint,
    person: null,
  }
}

/**
 * Creates the caller of a person, with the scopes of all roles; without `auth_time`, a login does
 * not count as fresh and cannot approve.
 */
function createPersonCaller(person: Person | null, { auth_time, cnf, exp }: JWTPayload): Caller {
  if (!person || exp === undefined) throw invalidToken(reasons.invalid)
  const scopes = [...listPersonScopes(person)].filter(
    (scope) => scope !== 'approve' || typeof auth_time === 'number',
  )
  return {
    clientId: person.personId,
    kind: 'admin',
    person,
    scopes: new Set(scopes),
    expiresAt: new Date(exp * 1_000),
    boundThumbprint: parseBoundThumbprint(cnf),
  }
}

/** The length of `Bearer `. */
const schemeLength = 7
const tokenLengthLimit = 8_192

/** `credentials` of RFC 6750 section 2.1; the scheme in any case (RFC 9110 section 11.1). */
const credentials = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i

/**
 * Returns the token in an `Authorization` header.
 * @throws Problem `unauthenticated`
 */
function bearerToken(header: string): string {
  const token = header.length > tokenLengthLimit ? undefined : credentials.exec(header)?.[1]
  if (token === undefined) throw invalidToken(reasons.noToken)
  return token
}

/**
 * Returns the thumbprint of the certificate that a token is bound to, by its `cnf` claim (RFC 7800
 * section 3.1, RFC 8705 section 3.1); null if it is not bound.
 * @throws Problem `unauthenticated` if the binding cannot be checked here
 */
function parseBoundThumbprint(confirmation: unknown): string | null {
  if (confirmation === undefined) return null
  const members = toMembers(confirmation)
  const thumbprint = members['x5t#S256']
  const isOnly = Object.keys(members).length === 1
  if (isOnly && typeof thumbprint === 'string' && /^[A-Za-z0-9_-]{43}$/.test(thumbprint)) {
    return thumbprint
  }
  throw invalidToken(reasons.invalid)
}

/**
 * The reasons for rejecting a token. A specific reason is given only if its holder can see it in
 * the request or in the token. Signature, client and keys share one text, because a distinction
 * would help a forger.
 */
const reasons = {
  noHeader: 'The request has no Authorization header. Send "Authorization: Bearer <token>".',
  otherScheme:
    'The Authorization header does not have the scheme Bearer. Send "Authorization: Bearer ' +
    '<token>".',
  noToken:
    'The Authorization header has no token of the form that RFC 6750 defines. Send ' +
    '"Authorization: Bearer <token>", with the token on one line and without quotes.',
  noJwt:
    'The token is not an access token of this service. Request one at the token endpoint, which ' +
    'is /oauth/token unless AUTH_ISSUER names another.',
  expired: 'The access token has expired. Request a new one.',
  otherIssuer:
    'The access token names another issuer. Request one from the issuer of this service.',
  otherAudience:
    'The access token was issued for another service or listener: its audience does not include ' +
    'this one. The public listener accepts tokens of client systems, the private listener those ' +
    'of card networks and administrators.',
  otherCertificate:
    'The access token is bound to a client certificate. Send it on a connection that uses this ' +
    'certificate.',
  notBound:
    'The access token must be bound to a client certificate. Request a new one on a connection ' +
    'that uses the certificate.',
  invalid:
    'The access token is not valid: its signature, key or client is unknown, or the client is ' +
    'disabled. Request a new one at the token endpoint.',
} as const

/** Returns the reason that belongs to a failure of the verification. */
function findReason(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return reasons.expired
  const isMalformed = error instanceof errors.JWSInvalid || error instanceof errors.JWTInvalid
  if (isMalformed) return reasons.noJwt
  if (!(error instanceof errors.JWTClaimValidationFailed)) return reasons.invalid
  const byClaim: Readonly<Record<string, string>> = {
    typ: reasons.noJwt,
    iss: reasons.otherIssuer,
    aud: reasons.otherAudience,
  }
  return byClaim[error.claim] ?? reasons.invalid
}

const invalidToken = (detail: string, cause?: unknown): Problem =>
  new Problem('unauthenticated', {
    detail,
    cause,
    headers: { 'www-authenticate': 'Bearer realm="pinfold", error="invalid_token"' },
  })
