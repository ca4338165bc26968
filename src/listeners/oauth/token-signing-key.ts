import { createPublicKey, type KeyObject } from 'node:crypto'
import type { JWK } from 'jose'
import { ExternalSigningKey } from 'oidc-provider'

/** A signing key of access tokens. Its private part never leaves the HSM. */
export interface OauthSigningKey {
  /** Its `kid`, unique among the keys. */
  readonly keyId: string
  readonly algorithm: 'ES256'
  /** The public part: `kty` EC, `crv` P-256, `x`, `y`. */
  readonly publicJwk: JWK
  /** The signature over the bytes: r then s, 64 bytes (RFC 7518 section 3.4). */
  sign(bytes: Uint8Array): Promise<Uint8Array>
}

/** Returns the part of a key that `/oauth/jwks` publishes: only the public members. */
export function publishedJwk({ algorithm, keyId, publicJwk }: OauthSigningKey): JWK {
  const { crv, kty, x, y } = publicJwk
  if (kty !== 'EC' || crv !== 'P-256' || x === undefined || y === undefined) {
    throw new TypeError(`The token signing key ${keyId} is not a P-256 key.`)
  }
  return { kty, use: 'sig', alg: algorithm, kid: keyId, crv, x, y }
}

/**
 * Converts the key to oidc-provider's form: the library passes the bytes and gets the signature.
 */
export const externalSigningKey = (key: OauthSigningKey): ExternalSigningKey =>
  new HsmSigningKey(key)

class HsmSigningKey extends ExternalSigningKey {
  readonly #key: OauthSigningKey
  readonly #publicKey: KeyObject

  constructor(key: OauthSigningKey) {
    super()
    this.#key = key
    this.#publicKey = createPublicKey({ key: { ...publishedJwk(key) }, format: 'jwk' })
  }

  override get kid(): string {
    return this.#key.keyId
  }

  override get alg(): string {
    return this.#key.algorithm
  }

  override keyObject(): KeyObject {
    return this.#publicKey
  }

  override sign(bytes: Uint8Array): Promise<Uint8Array> {
    return this.#key.sign(bytes)
  }
}
