import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type JWK,
  type JWTVerifyGetKey,
  type RemoteJWKSet,
} from 'jose'
import { toMembers } from '../../domain/members.ts'
import { Problem } from '../../domain/problem.ts'
import { withoutWeakRsaKeys } from '../../domain/rsa-key.ts'

/**
 * How long an issuer that did not answer is not asked again, because foreign tokens cause requests
 * to it.
 */
const pauseAfterFailureMs = 5_000
/** The minimum time between a fetch and another one for an unknown `kid`. */
const cooldownMs = 30_000
/** How long a withdrawn key of the issuer may still be used. */
const keysMaxAgeMs = 600_000

/**
 * Reads a JSON document. The allowed addresses are checked elsewhere.
 * @throws Error
 */
export type FetchJson = (address: URL) => Promise<unknown>

/** The keys that verify access tokens. */
export interface IssuerKeys {
  /** The accepted algorithms; a token's own `alg` selects among these only. */
  readonly algorithms: readonly string[]
  /**
   * Returns the key that a token names.
   * @throws jose's errors if the issuer has no such key; Problem `unavailable` during an outage of
   *   the issuer.
   */
  readonly find: JWTVerifyGetKey
}

/** The keys of the embedded issuer. */
export const localKeys = (keys: readonly JWK[]): IssuerKeys => ({
  algorithms: ['ES256'],
  find: createLocalJWKSet({ keys: [...keys] }),
})

/**
 * The keys of an outside issuer, discovered at the first token and fetched again as they change.
 */
export function discoveredKeys(fetchJson: FetchJson, issuer: string): IssuerKeys {
  const ask = pausingAfterFailure()
  let discovered: Promise<RemoteJWKSet> | undefined
  const discover = async (): Promise<RemoteJWKSet> =>
    createRemoteJWKSet(await ask(() => discoverJwksUri(fetchJson, issuer)), {
      cooldownDuration: cooldownMs,
      cacheMaxAge: keysMaxAgeMs,
      // A token that names a weak key finds no key and is rejected.
      [customFetch]: async (url) =>
        Response.json(withoutWeakRsaKeys(await ask(() => fetchJson(new URL(url))))),
    })
  const forgetUnlessFresh = async (keys: Promise<RemoteJWKSet>): Promise<void> => {
    const fresh = await keys.then(
      (found) => found.fresh,
      () => false,
    )
    if (!fresh && discovered === keys) discovered = undefined
  }
  return {
    algorithms: ['ES256', 'PS256', 'RS256', 'EdDSA'],
    find: async (header, token) => {
      discovered ??= discover()
      const keys = discovered
      try {
        return await (await keys)(header, token)
      } catch (error) {
        if (tokenFaults.some((fault) => error instanceof fault)) throw error
        await forgetUnlessFresh(keys)
        throw error instanceof Problem ? error : unavailable(error)
      }
    },
  }
}

/** The errors for a token without a matching key. */
const tokenFaults = [
  errors.JWKSNoMatchingKey,
  errors.JWKSMultipleMatchingKeys,
  errors.JOSENotSupported,
]

const unavailable = (cause: unknown): Problem =>
  new Problem('unavailable', { detail: 'The token issuer does not answer.', cause })

/** Pauses requests to the issuer after a failure; fresh keys stay in use. */
function pausingAfterFailure(): <Answer>(ask: () => Promise<Answer>) => Promise<Answer> {
  let pausedUntilMs = 0
  return async (ask) => {
    if (Date.now() < pausedUntilMs) throw new Error('The token issuer did not answer recently.')
    try {
      return await ask()
    } catch (error) {
      pausedUntilMs = Date.now() + pauseAfterFailureMs
      throw error
    }
  }
}

/**
 * Discovers where an issuer publishes its keys: RFC 8414 section 3, then OpenID Connect Discovery
 * 1.0 section 4.
 * @throws Problem `unavailable` if neither document can be read.
 */
export async function discoverJwksUri(fetchJson: FetchJson, issuer: string): Promise<URL> {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  // RFC 8414 puts the well-known part before the path of the issuer, OpenID Connect after it.
  const addresses = [
    new URL(`/.well-known/oauth-authorization-server${path}`, origin),
    new URL(`${path}/.well-known/openid-configuration`, origin),
  ]
  const failures: unknown[] = []
  for (const address of addresses) {
    try {
      return readJwksUri(await fetchJson(address), issuer)
    } catch (error) {
      failures.push(error)
    }
  }
  const reasons = failures.map((each) => (each instanceof Error ? each.message : 'no answer'))
  const message = `No usable metadata of ${issuer}: ${reasons.join('; ')}`
  throw unavailable(new AggregateError(failures, message))
}

/** RFC 8414 section 3.3: metadata that names another issuer must not be used. */
function readJwksUri(metadata: unknown, issuer: string): URL {
  const { issuer: named, jwks_uri: jwksUri } = toMembers(metadata)
  if (named !== issuer) throw new Error(`The metadata belongs to another issuer than ${issuer}`)
  if (typeof jwksUri !== 'string') throw new Error(`The metadata of ${issuer} has no jwks_uri`)
  const address = new URL(jwksUri)
  if (address.protocol !== 'https:' && address.protocol !== new URL(issuer).protocol) {
    throw new Error(`The jwks_uri of ${issuer} is less protected than the issuer`)
  }
  return address
}
