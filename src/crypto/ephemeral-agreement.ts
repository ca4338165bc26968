import { diffieHellman, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { AgreementJwk } from './public-jwk.ts'
import { orRefuse, refuse } from './refusal.ts'

/** A secret shared with the holder of a public key, by a key pair that is gone by now. */
export type EphemeralAgreement = {
  /** The public half of that pair, on the curve of the other's key. */
  readonly ephemeralJwk: AgreementJwk
  /** Z: 32 bytes. */
  readonly sharedSecret: Buffer
}

/**
 * Agrees on a secret with the holder of a key on P-256 or X25519, by a fresh key pair (RFC 7518 4.6,
 * RFC 8037 3.2).
 *
 * @throws CryptoRefusal `agreement_refused` for a key of another kind, and for a point of small order,
 *   with which the secret would be zero whatever the pair (RFC 7748 6.1).
 */
export function agreeEphemerally(publicKey: KeyObject): EphemeralAgreement {
  return orRefuse('agreement_refused', () => {
    const pair = makePairFor(publicKey)
    const sharedSecret = diffieHellman({ privateKey: pair.privateKey, publicKey })
    if (sharedSecret.every((byte) => byte === 0)) refuse('agreement_refused')
    return { ephemeralJwk: publicJwkOf(pair.publicKey), sharedSecret }
  })
}

function makePairFor({ asymmetricKeyDetails, asymmetricKeyType }: KeyObject) {
  if (asymmetricKeyType === 'x25519') return generateKeyPairSync('x25519')
  const isP256 = asymmetricKeyDetails?.namedCurve === 'prime256v1'
  return isP256 ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : refuse('agreement_refused')
}

function publicJwkOf(publicKey: KeyObject): AgreementJwk {
  const { x = '', y } = publicKey.export({ format: 'jwk' })
  return y === undefined ? { kty: 'OKP', crv: 'X25519', x } : { kty: 'EC', crv: 'P-256', x, y }
}
