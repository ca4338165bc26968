import { CryptoRefusal } from '../../crypto/refusal.ts'
import { removeOaepPadding } from '../../crypto/rsa-oaep-padding.ts'
import type { RsaPublicJwk, SigningKey } from '../keys/key-engine.ts'
import {
  attribute,
  type Handle,
  keyType,
  mechanism,
  mgf1Sha256,
  noKeyDerivation,
  objectClass,
  parametersType,
  sha256,
} from './cryptoki.ts'
import { findObject, isEdwards, parseLabel, type TokenKey } from './objects.ts'
import type { TokenSession } from './session.ts'

/** The bytes of an RSA-4096 modulus: enough room for every result. */
const modulusLength = 512

/**
 * Signs a digest with ECDSA.
 * @returns r and s, 32 bytes each.
 */
export function signDigest(
  { cryptoki, handle }: TokenSession,
  key: Handle,
  digest: Uint8Array,
): Buffer {
  cryptoki.C_SignInit(handle, { mechanism: mechanism.ecdsa }, key)
  return cryptoki.C_Sign(handle, Buffer.from(digest), Buffer.alloc(64))
}

/**
 * Signs a message with Ed25519 (RFC 8032; PKCS#11 3.0, 6.3.14).
 * @returns 64 bytes.
 */
export function signMessage(
  { cryptoki, handle }: TokenSession,
  key: Handle,
  message: Uint8Array,
): Buffer {
  cryptoki.C_SignInit(handle, { mechanism: mechanism.eddsa }, key)
  return cryptoki.C_Sign(handle, Buffer.from(message), Buffer.alloc(64))
}

/** Signs a digest with RSASSA-PSS, SHA-256 and 32 bytes of salt. */
export function signDigestPss(
  { cryptoki, handle }: TokenSession,
  key: Handle,
  digest: Uint8Array,
): Buffer {
  const parameter = {
    type: parametersType.rsaPss,
    hashAlg: sha256,
    mgf: mgf1Sha256,
    saltLen: 32,
  }
  cryptoki.C_SignInit(handle, { mechanism: mechanism.rsaPss, parameter }, key)
  return cryptoki.C_Sign(handle, Buffer.from(digest), Buffer.alloc(modulusLength))
}

/**
 * Decrypts RSA-OAEP with SHA-256. The token executes the bare RSA operation, because many modules
 * support SHA-1 only and reveal padding faults by how they fail.
 * @returns null for any padding fault.
 */
export function unwrapOaep(
  { cryptoki, handle }: TokenSession,
  key: Handle,
  wrapped: Uint8Array,
): Buffer | null {
  cryptoki.C_DecryptInit(handle, { mechanism: mechanism.rsaX509 }, key)
  const encoded = cryptoki.C_Decrypt(handle, Buffer.from(wrapped), Buffer.alloc(modulusLength))
  try {
    return removeOaepPadding(encoded)
  } catch (error) {
    if (error instanceof CryptoRefusal) return null
    throw error
  }
}

/**
 * Executes ECDH with a point of another party (SP 800-56A 5.7.1.2). The result is a key of this
 * session only, which is read and destroyed at once.
 * @returns the x coordinate of the shared point.
 */
export function agreeWith(
  { cryptoki, handle }: TokenSession,
  key: Handle,
  point: Uint8Array,
): Buffer {
  const publicData = Buffer.from(point)
  const parameter = { type: parametersType.ecdh1, kdf: noKeyDerivation, publicData }
  const secret = cryptoki.C_DeriveKey(
    handle,
    { mechanism: mechanism.ecdh1Derive, parameter },
    key,
    [
      { type: attribute.class, value: objectClass.secretKey },
      { type: attribute.keyType, value: keyType.genericSecret },
      { type: attribute.valueLength, value: 32 },
      { type: attribute.token, value: false },
      { type: attribute.sensitive, value: false },
      { type: attribute.extractable, value: true },
    ],
  )
  const [found] = cryptoki.C_GetAttributeValue(handle, secret, [{ type: attribute.value }])
  cryptoki.C_DestroyObject(handle, secret)
  if (found?.value.length !== 32) throw new Error('The token agreed on no secret.')
  return found.value
}

export type EcPublicJwk = SigningKey['publicJwk']
export type PublicHalf = EcPublicJwk | RsaPublicJwk | EdwardsPublicHalf

/** The public half of an Ed25519 key (RFC 8037 2). */
interface EdwardsPublicHalf {
  readonly kty: 'OKP'
  readonly crv: 'Ed25519'
  readonly x: string
}

/**
 * Reads the public half of a key pair.
 * @throws Error unless it is P-256, Ed25519 or RSA.
 */
export function readPublicHalf(session: TokenSession, key: TokenKey): PublicHalf {
  const { cryptoki, handle } = session
  const object = findObject(session, key, 'publicHalf')
  const read = (...types: readonly number[]): readonly Buffer[] => {
    const attributes = types.map((type) => ({ type }))
    return cryptoki.C_GetAttributeValue(handle, object, attributes).map(({ value }) => value)
  }
  if (isEdwards(parseLabel(key))) return edwardsHalf(read(attribute.ecPoint))
  if (parseLabel(key).algorithm !== 'R') return ecJwk(read(attribute.ecPoint))
  const [modulus, exponent] = read(attribute.modulus, attribute.publicExponent)
  if (!modulus || !exponent) throw new Error('The key pair is not RSA.')
  return { kty: 'RSA', n: integer(modulus), e: integer(exponent) }
}

/** An integer without leading zeros (RFC 7518 2, Base64urlUInt). */
const integer = (bytes: Buffer): string =>
  bytes.subarray(bytes.findIndex((byte) => byte !== 0)).toString('base64url')

const coordinateLength = 32

function edwardsHalf([value = Buffer.alloc(0)]: readonly Buffer[]): EdwardsPublicHalf {
  // The value is bare, or wrapped as a DER octet string.
  const isWrapped = value.length === 2 + coordinateLength && value[0] === 4
  if (!isWrapped && value.length !== coordinateLength) throw new Error('The key is not Ed25519.')
  const x = value.subarray(-coordinateLength).toString('base64url')
  return { kty: 'OKP', crv: 'Ed25519', x }
}

function ecJwk([value = Buffer.alloc(0)]: readonly Buffer[]): EcPublicJwk {
  // An uncompressed point (SEC 1, 2.3.3), which some modules wrap as a DER octet string.
  const point = value.subarray(-1 - 2 * coordinateLength)
  if (point[0] !== 4 || point.length !== 1 + 2 * coordinateLength) {
    throw new Error('The key pair is not on P-256.')
  }
  return {
    kty: 'EC',
    crv: 'P-256',
    x: point.subarray(1, 1 + coordinateLength).toString('base64url'),
    y: point.subarray(1 + coordinateLength).toString('base64url'),
  }
}
