import { agreeEphemerally, type EphemeralAgreement } from '../crypto/ephemeral-agreement.ts'
import { type AgreementJwk, jwkThumbprint, readAgreementJwk } from '../crypto/public-jwk.ts'
import { CryptoRefusal } from '../crypto/refusal.ts'
import { sealJwe } from '../crypto/seal-jwe.ts'
import type { CardDataHsm, CardDisclosure, DeviceKeyClaims, DeviceKeyJwk } from './card-data-hsm.ts'
import { cardDataKeyId } from './card-data-keys.ts'
import { numericDate, openCardSecrets } from './card-data-secrets.ts'
import type { KeyRing, RingKey } from './key-ring.ts'

/** Seconds that an answer is good for. */
const lifeSeconds = 60

/** Seals card data to a device's fresh key, forward secret. */
export const deviceKeyVerbs = (ring: KeyRing): Pick<CardDataHsm, 'importDeviceKey'> => ({
  async importDeviceKey(key, claims) {
    // Before the device's key is looked at: a seal that could not be made must not be on record.
    const signingKey = await ring.active('card-data-sign-ec')
    const jwk = agreementJwkOf(key)
    const agreement = jwk && agree(jwk)
    if (!jwk || !agreement) return null
    const cnf = { jkt: jwkThumbprint(jwk) }
    return {
      async seal(disclosure) {
        const jws = await signCard(ring, signingKey, disclosure, { ...claims, cnf })
        return sealJwe(agreement, 'JWT', Buffer.from(jws))
      },
    }
  },
})

function agreementJwkOf({ crv, kty, x, y }: DeviceKeyJwk): AgreementJwk | null {
  if (kty === 'EC' && crv === 'P-256' && y !== undefined) return { kty, crv, x, y }
  return kty === 'OKP' && crv === 'X25519' && y === undefined ? { kty, crv, x } : null
}

/** By a key pair of our own for this answer alone. */
function agree(jwk: AgreementJwk): EphemeralAgreement | null {
  try {
    return agreeEphemerally(readAgreementJwk(jwk))
  } catch (error) {
    if (error instanceof CryptoRefusal) return null
    throw error
  }
}

/** A JWS in compact form (RFC 7515 3.1). */
async function signCard(
  ring: KeyRing,
  { key, version }: RingKey<'card-data-sign-ec'>,
  disclosure: CardDisclosure,
  { cnf, issuer, nonce }: DeviceKeyClaims & { readonly cnf: { readonly jkt: string } },
): Promise<string> {
  const iat = numericDate(disclosure.at)
  const kid = cardDataKeyId('card-data-sign-ec', version)
  const header = { alg: 'ES256', typ: 'card-data+jwt', kid }
  const claims = {
    iss: issuer,
    sub: disclosure.card.publicToken,
    nonce,
    iat,
    exp: iat + lifeSeconds,
    cnf,
    card: await openCardSecrets(ring, disclosure),
  }
  const signed = `${encode(header)}.${encode(claims)}`
  const signature = await key.sign(Buffer.from(signed))
  return `${signed}.${Buffer.from(signature).toString('base64url')}`
}

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')
