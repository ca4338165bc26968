import { Problem } from '../errors.ts'

/** Reads a JSON document. Where it may lead is not decided in this room. @throws Error */
export type FetchJson = (address: URL) => Promise<unknown>

/**
 * Where an issuer publishes its keys: RFC 8414 section 3, then OpenID Connect Discovery 1.0 section 4.
 * @throws Problem `unavailable` where neither address tells it.
 */
export async function discoverJwksUri(fetchJson: FetchJson, issuer: string): Promise<URL> {
  const failures: unknown[] = []
  for (const address of metadataAddresses(issuer)) {
    try {
      return readJwksUri(await fetchJson(address), issuer)
    } catch (error) {
      failures.push(error)
    }
  }
  const reasons = failures.map((each) => (each instanceof Error ? each.message : 'no answer'))
  throw new Problem('unavailable', {
    detail: 'The token issuer does not answer.',
    cause: new AggregateError(failures, `No usable metadata of ${issuer}: ${reasons.join('; ')}`),
  })
}

/** RFC 8414 puts the well-known part before the path of the issuer, OpenID Connect after it. */
function metadataAddresses(issuer: string): URL[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  return [
    new URL(`/.well-known/oauth-authorization-server${path}`, origin),
    new URL(`${path}/.well-known/openid-configuration`, origin),
  ]
}

/** RFC 8414 section 3.3: metadata that names another issuer must not be used. */
function readJwksUri(metadata: unknown, issuer: string): URL {
  const { issuer: named, jwks_uri: jwksUri } = Object(metadata)
  if (named !== issuer) throw new Error(`The metadata is of another issuer than ${issuer}`)
  if (typeof jwksUri !== 'string') throw new Error(`The metadata of ${issuer} has no jwks_uri`)
  const address = new URL(jwksUri)
  if (address.protocol !== 'https:' && address.protocol !== new URL(issuer).protocol) {
    throw new Error(`The jwks_uri of ${issuer} is less protected than the issuer`)
  }
  return address
}
