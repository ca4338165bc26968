import { createHash, createPublicKey, type KeyObject } from 'node:crypto'
import { orRefuse, refuse } from './refusal.ts'

/** A public key that two sides may agree on a secret with (RFC 7518 6.2, RFC 8037 2). */
export type AgreementJwk =
  | { readonly kty: 'EC'; readonly crv: 'P-256'; readonly x: string; readonly y: string }
  | { readonly kty: 'OKP'; readonly crv: 'X25519'; readonly x: string }

const coordinateBytes = 32

/**
 * The key of a JWK.
 *
 * @throws CryptoRefusal `public_jwk_refused` when a coordinate is not 32 bytes in its one canonical
 *   spelling, or the point is not on the curve.
 */
export function readAgreementJwk(jwk: AgreementJwk): KeyObject {
  const coordinates = jwk.kty === 'EC' ? [jwk.x, jwk.y] : [jwk.x]
  if (!coordinates.every(isCoordinate)) refuse('public_jwk_refused')
  return orRefuse('public_jwk_refused', () => createPublicKey({ key: { ...jwk }, format: 'jwk' }))
}

function isCoordinate(text: string): boolean {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.length === coordinateBytes && bytes.toString('base64url') === text
}

/** The members that a thumbprint is over, in the order that it asks for (RFC 7638 3.2, RFC 8037 2). */
const thumbprintMembers = { EC: ['crv', 'kty', 'x', 'y'], OKP: ['crv', 'kty', 'x'] } as const

/** The thumbprint of a key: SHA-256, base64url (RFC 7638 3). */
export function jwkThumbprint(jwk: AgreementJwk): string {
  const members: Readonly<Record<string, string>> = { ...jwk }
  const required = thumbprintMembers[jwk.kty].map((name) => [name, members[name]])
  return createHash('sha256')
    .update(JSON.stringify(Object.fromEntries(required)))
    .digest('base64url')
}
