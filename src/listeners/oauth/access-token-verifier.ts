import { createHash } from 'node:crypto'
import { errors, type JWK, type JWTPayload, jwtVerify } from 'jose'
import { LRUCache } from 'lru-cache'
import { isClientId, type ListenerName, listenerOf } from '../../domain/client.ts'
import { Problem } from '../../domain/problem.ts'
import type { Client, ClientKind } from '../../storage/clients/clients.ts'
import { boundThumbprint, requireCertificate } from './client-certificate.ts'
import { discoveredKeys, type FetchJson, type IssuerKeys, localKeys } from './issuer-keys.ts'

/** Who calls, as the access token and the register say it together. */
export interface Caller {
  readonly clientId: string
  readonly kind: ClientKind
  /** What the token grants and the client is registered for. */
  readonly scopes: ReadonlySet<string>
  /** When the token expires: a stream opened with it ends here. */
  readonly expiresAt: Date
  /** The thumbprint of the certificate that the token is bound to (RFC 8705); null where it is not. */
  readonly boundThumbprint: string | null
}

export interface AccessTokenVerifierOptions {
  readonly issuer: string
  readonly audience: string
  /** Clients of a kind that belongs to the other listener are refused. */
  readonly listener: ListenerName
  /** The embedded issuer's keys, or where to discover those of an outside issuer. */
  readonly keys: readonly JWK[] | { readonly discoverFrom: string; readonly fetchJson: FetchJson }
  /** The claim that names the client; `client_id` (RFC 9068 section 2.2) unless given. */
  readonly clientClaim?: string
  findClient(clientId: string): Promise<Client | null>
  /** The clock of the machine, never a movable one: tokens are dated by it. */
  now?(): Date
}

export interface AccessTokenVerifier {
  /**
   * Who sent this `Authorization` header (RFC 6750 section 2.1).
   * @param presented the thumbprint of the certificate of the connection that it came by
   * @throws Problem `unauthenticated`, or `unavailable` when the database or the issuer is away.
   */
  verify(authorizationHeader: string | undefined, presented?: string | null): Promise<Caller>
}

/** A caller, and when the answer must be found anew. */
interface Verified {
  readonly caller: Caller
  readonly untilMs: number
}

type Verify = (token: string) => Promise<Caller>

/** A disabled client is out after this long, and so is a token that its client had before. */
const cacheLifetimeMs = 60_000
const cacheSizeLimit = 10_000

/**
 * Verifies access tokens (RFC 9068 section 4): signature, `alg` from a fixed list, `typ`, `iss`,
 * `aud`, `exp`, and that the client is registered and active. What was verified is remembered by the
 * hash of the token for at most 60 s; a refusal is not remembered.
 */
export function createAccessTokenVerifier(
  options: AccessTokenVerifierOptions,
): AccessTokenVerifier {
  const now = options.now ?? (() => new Date())
  const keys = issuerKeysOf(options)
  const verify = remembering(now, async (token) => {
    const payload = await verifyToken(options, keys, now(), token)
    return callerOf(options, payload)
  })
  return {
    async verify(header, presented = null) {
      const caller = await verify(bearerToken(header))
      // Never remembered: the certificate of one connection says nothing of the next.
      requireCertificate(caller.boundThumbprint, presented)
      return caller
    },
  }
}

const issuerKeysOf = ({ keys }: AccessTokenVerifierOptions): IssuerKeys =>
  'discoverFrom' in keys ? discoveredKeys(keys.fetchJson, keys.discoverFrom) : localKeys(keys)

/** Asks once for each token within its time, however many requests bring it at once. */
function remembering(now: () => Date, verify: Verify): Verify {
  const verified = new LRUCache<string, Verified>({ max: cacheSizeLimit })
  const running = new Map<string, Promise<Caller>>()
  const ask = async (key: string, token: string): Promise<Caller> => {
    // Counted from before the look-up, so that the 60 s hold however long it takes.
    const limitMs = now().getTime() + cacheLifetimeMs
    const caller = await verify(token)
    verified.set(key, { caller, untilMs: Math.min(limitMs, caller.expiresAt.getTime()) })
    return caller
  }
  return (token) => {
    const key = createHash('sha256').update(token).digest('base64')
    const known = verified.get(key)
    if (known && now().getTime() < known.untilMs) return Promise.resolve(known.caller)
    const asking =
      running.get(key) ??
      ask(key, token).finally(() => {
        running.delete(key)
      })
    running.set(key, asking)
    return asking
  }
}

async function verifyToken(
  { audience, issuer }: AccessTokenVerifierOptions,
  { algorithms, find }: IssuerKeys,
  currentDate: Date,
  token: string,
): Promise<JWTPayload> {
  try {
    const { payload } = await jwtVerify(token, find, {
      algorithms: [...algorithms],
      typ: 'at+jwt',
      issuer,
      audience,
      requiredClaims: ['exp'],
      currentDate,
    })
    return payload
  } catch (error) {
    throw error instanceof errors.JOSEError ? invalidToken(error) : error
  }
}

async function callerOf(
  { clientClaim, findClient, listener }: AccessTokenVerifierOptions,
  payload: JWTPayload,
): Promise<Caller> {
  const clientId = payload[clientClaim ?? 'client_id']
  const client = isClientId(clientId) ? await findClient(clientId) : null
  if (!client?.active || listenerOf(client.kind) !== listener || payload.exp === undefined) {
    throw invalidToken()
  }
  const bound = boundThumbprint(payload.cnf)
  // Also where an outside issuer knows nothing of it, and for tokens from before it was asked.
  if (client.certificateBoundTokens && bound === null) throw invalidToken()
  const registered = new Set(client.scopes)
  return {
    clientId: client.clientId,
    kind: client.kind,
    scopes: new Set(scopesIn(payload).filter((scope) => registered.has(scope))),
    expiresAt: new Date(payload.exp * 1_000),
    boundThumbprint: bound,
  }
}

/** RFC 9068 section 2.2.3: one string, separated by spaces. */
const scopesIn = ({ scope }: JWTPayload): string[] =>
  typeof scope === 'string' ? scope.split(' ') : []

const tokenLengthLimit = 8_192

/** `credentials` of RFC 6750 section 2.1; the scheme in any case (RFC 9110 section 11.1). */
const credentials = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i

/**
 * The token in an `Authorization` header.
 * @throws Problem `unauthenticated`
 */
function bearerToken(header: string | undefined): string {
  if (header === undefined || !/^bearer( |$)/i.test(header)) throw unauthenticated()
  const token = header.length > tokenLengthLimit ? undefined : credentials.exec(header)?.[1]
  if (token === undefined) throw invalidToken()
  return token
}

/** No token: the challenge alone, and no error (RFC 6750 section 3.1, last paragraph). */
const unauthenticated = (): Problem =>
  new Problem('unauthenticated', { headers: { 'www-authenticate': 'Bearer realm="pinfold"' } })

/** A token that is not accepted, whatever the reason: which one it is would help a forger. */
export const invalidToken = (cause?: unknown): Problem =>
  new Problem('unauthenticated', {
    cause,
    headers: { 'www-authenticate': 'Bearer realm="pinfold", error="invalid_token"' },
  })
