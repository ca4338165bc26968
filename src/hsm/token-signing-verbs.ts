import type { Hsm } from './hsm.ts'
import type { KeyRing } from './key-ring.ts'

/** Signs access tokens with ES256 (RFC 7518, section 3.4). */
export const tokenSigningVerbs = (ring: KeyRing): Pick<Hsm, 'tokenSigningKeys'> => ({
  async tokenSigningKeys() {
    return (await ring.versions('token-signing')).map(({ key, version }) => ({
      keyId: `token-signing-${version}`,
      algorithm: 'ES256',
      publicJwk: key.publicJwk,
      sign: (message) => key.sign(message),
    }))
  },
})
