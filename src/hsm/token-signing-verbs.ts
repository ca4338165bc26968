import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import { promisify } from 'node:util'
import type { Hsm, TokenSigningKey } from './hsm.ts'
import type { KeyRing, RingKey } from './key-ring.ts'

const signInBackground = promisify(sign)

/** Signs access tokens with ES256 (RFC 7518, section 3.4). */
export function tokenSigningVerbs(ring: KeyRing): Pick<Hsm, 'tokenSigningKeys'> {
  const keys = ring.versions('token-signing').map(signingKey)
  return { tokenSigningKeys: async () => keys }
}

function signingKey({ key, version }: RingKey): TokenSigningKey {
  const privateKey = createPrivateKey({
    key: Buffer.from(key.reveal()),
    format: 'der',
    type: 'pkcs8',
  })
  return {
    keyId: `token-signing-${version}`,
    algorithm: 'ES256',
    publicJwk: publicJwkOf(privateKey),
    sign: (message) =>
      signInBackground('sha256', message, { key: privateKey, dsaEncoding: 'ieee-p1363' }),
  }
}

function publicJwkOf(privateKey: KeyObject): TokenSigningKey['publicJwk'] {
  const { x, y } = createPublicKey(privateKey).export({ format: 'jwk' })
  if (x === undefined || y === undefined) throw new Error('This is no key on a curve.')
  return { kty: 'EC', crv: 'P-256', x, y }
}
