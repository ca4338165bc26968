import * as crypto from 'node:crypto'
import { orRefuse, refuse } from './refusal.ts'

/** The inputs of a key derivation, except the shared secret. */
type ConcatKdfInputs = {
  /** `enc` for direct agreement, such as `A256GCM`; `alg` if the key wraps another key. */
  readonly algorithm: string
  /** Agreement PartyUInfo, decoded; may be empty. */
  readonly apu: Uint8Array
  /** Agreement PartyVInfo, decoded; may be empty. */
  readonly apv: Uint8Array
  /** The number of key bits, a multiple of 8, at most 512. */
  readonly keyBits: number
}

/**
 * Concat KDF with SHA-256, as ECDH-ES uses it (RFC 7518 4.6.2, SP 800-56A 5.8.1).
 *
 * @param sharedSecret Z, the x coordinate that both sides agree on.
 * @throws CryptoRefusal `key_derivation_refused` for any other length.
 */
export function concatKdf(sharedSecret: Uint8Array, inputs: ConcatKdfInputs): Buffer {
  const { algorithm, apu, apv, keyBits } = inputs
  const isLength = keyBits > 0 && keyBits <= 512 && keyBits % 8 === 0
  if (!isLength) refuse('key_derivation_refused')
  const otherInfo = Buffer.concat([
    withLength(Buffer.from(algorithm)),
    withLength(apu),
    withLength(apv),
    uint32(keyBits),
  ])
  const rounds = [1, 2].map((counter) =>
    crypto
      .createHash('sha256')
      .update(uint32(counter))
      .update(sharedSecret)
      .update(otherInfo)
      .digest(),
  )
  return Buffer.concat(rounds).subarray(0, keyBits / 8)
}

function withLength(bytes: Uint8Array): Buffer {
  return Buffer.concat([uint32(bytes.length), bytes])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** A secret shared with the holder of a public key. The ephemeral key pair no longer exists. */
export type EphemeralAgreement = {
  /** The public half of the ephemeral pair, on the curve of the other key. */
  readonly ephemeralJwk: AgreementJwk
  /** Z: 32 bytes. */
  readonly sharedSecret: Buffer
}

/**
 * Agrees on a secret with the holder of a key on P-256 or X25519, with a new key pair (RFC 7518
 * 4.6, RFC 8037 3.2).
 *
 * @throws CryptoRefusal `agreement_refused` for a key of another kind, and for a point of small
 *   order, with which every pair would give the secret zero (RFC 7748 6.1).
 */
export function agreeEphemerally(publicKey: crypto.KeyObject): EphemeralAgreement {
  return orRefuse('agreement_refused', () => {
    const pair = makePairFor(publicKey)
    const sharedSecret = crypto.diffieHellman({ privateKey: pair.privateKey, publicKey })
    if (sharedSecret.every((byte) => byte === 0)) refuse('agreement_refused')
    const { x = '', y } = pair.publicKey.export({ format: 'jwk' })
    const ephemeralJwk: AgreementJwk =
      y === undefined ? { kty: 'OKP', crv: 'X25519', x } : { kty: 'EC', crv: 'P-256', x, y }
    return { ephemeralJwk, sharedSecret }
  })
}

function makePairFor({ asymmetricKeyDetails, asymmetricKeyType }: crypto.KeyObject) {
  if (asymmetricKeyType === 'x25519') return crypto.generateKeyPairSync('x25519')
  const isP256 = asymmetricKeyDetails?.namedCurve === 'prime256v1'
  return isP256
    ? crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' })
    : refuse('agreement_refused')
}

/** A public key for key agreement (RFC 7518 6.2, RFC 8037 2). */
export type AgreementJwk =
  | { readonly kty: 'EC'; readonly crv: 'P-256'; readonly x: string; readonly y: string }
  | { readonly kty: 'OKP'; readonly crv: 'X25519'; readonly x: string }

const coordinateBytes = 32

/**
 * Reads the key of a JWK.
 *
 * @throws CryptoRefusal `public_jwk_refused` when a coordinate is not 32 bytes in the canonical
 *   spelling, or the point is not on the curve.
 */
export function readAgreementJwk(jwk: AgreementJwk): crypto.KeyObject {
  const coordinates = jwk.kty === 'EC' ? [jwk.x, jwk.y] : [jwk.x]
  for (const coordinate of coordinates) {
    const bytes = Buffer.from(coordinate, 'base64url')
    const isCanonical = bytes.toString('base64url') === coordinate
    if (bytes.length !== coordinateBytes || !isCanonical) refuse('public_jwk_refused')
  }
  return orRefuse('public_jwk_refused', () =>
    crypto.createPublicKey({ key: { ...jwk }, format: 'jwk' }),
  )
}

/** The members that a thumbprint covers, in its order (RFC 7638 3.2, RFC 8037 2). */
const thumbprintMembers = { EC: ['crv', 'kty', 'x', 'y'], OKP: ['crv', 'kty', 'x'] } as const

/** Computes the thumbprint of a key: SHA-256, base64url (RFC 7638 3). */
export function jwkThumbprint(jwk: AgreementJwk): string {
  const members: Readonly<Record<string, string>> = { ...jwk }
  const required = thumbprintMembers[jwk.kty].map((name) => [name, members[name]])
  return crypto
    .createHash('sha256')
    .update(JSON.stringify(Object.fromEntries(required)))
    .digest('base64url')
}
