import type { RsaPublicJwk, SigningKey } from '../working-key.ts'
import { attribute } from './constants.ts'
import { type TokenKey, useOf } from './token-key.ts'
import { findObject } from './token-objects.ts'
import type { TokenSession } from './token-session.ts'

export type EcPublicJwk = SigningKey['publicJwk']
export type PublicHalf = EcPublicJwk | RsaPublicJwk

/** The public half of a key pair. @throws Error when it is neither on P-256 nor of RSA. */
export function publicHalfOf(session: TokenSession, key: TokenKey): PublicHalf {
  const read = attributesOf(session, key)
  return useOf(key).algorithm === 'R' ? rsaJwk(read) : ecJwk(read)
}

type Read = (...types: readonly number[]) => readonly Buffer[]

function attributesOf(session: TokenSession, key: TokenKey): Read {
  const { cryptoki, handle } = session
  const object = findObject(session, key, 'publicHalf')
  return (...types) => {
    const found = types.map((type) => ({ type }))
    return cryptoki.C_GetAttributeValue(handle, object, found).map(({ value }) => value)
  }
}

/** An integer without leading zeros (RFC 7518 2, Base64urlUInt). */
const integer = (bytes: Buffer): string =>
  bytes.subarray(bytes.findIndex((byte) => byte !== 0)).toString('base64url')

function rsaJwk(read: Read): RsaPublicJwk {
  const [modulus, exponent] = read(attribute.modulus, attribute.publicExponent)
  if (!modulus || !exponent) throw new Error('This key pair is none of RSA.')
  return { kty: 'RSA', n: integer(modulus), e: integer(exponent) }
}

const coordinateLength = 32

function ecJwk(read: Read): EcPublicJwk {
  const [value = Buffer.alloc(0)] = read(attribute.ecPoint)
  // An uncompressed point (SEC 1, 2.3.3), which some modules wrap as a DER octet string.
  const point = value.subarray(-1 - 2 * coordinateLength)
  if (point[0] !== 4 || point.length !== 1 + 2 * coordinateLength) {
    throw new Error('This key pair is not on P-256.')
  }
  return {
    kty: 'EC',
    crv: 'P-256',
    x: point.subarray(1, 1 + coordinateLength).toString('base64url'),
    y: point.subarray(1 + coordinateLength).toString('base64url'),
  }
}
