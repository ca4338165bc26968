import { createHash, createPublicKey } from 'node:crypto'
import { cmac } from '../../crypto/cmac.ts'
import type { KeyKind } from '../key-table.ts'
import type { SigningKey } from '../working-key.ts'
import { attribute, mechanism } from './constants.ts'
import type { Handle } from './cryptoki.ts'
import { encipherBlocks, macOf } from './token-ciphers.ts'
import type { TokenKey } from './token-key.ts'
import { findObject } from './token-objects.ts'
import type { TokenSession } from './token-session.ts'

/** Bytes of the check values that no standard gives a length, and of AES (X9.143, annex C). */
const lengthBytes = 5

/** The check value of a key whose bytes are in the token alone: the same that its bytes would give. */
export const tokenCheckValue = (
  session: TokenSession,
  { algorithm }: Pick<KeyKind, 'algorithm'>,
  key: TokenKey,
  whole: Handle,
): string => checks[algorithm](session, whole, key).toString('hex').toUpperCase()

type Check = (session: TokenSession, whole: Handle, key: TokenKey) => Buffer

const checks: Record<KeyKind['algorithm'], Check> = {
  A: (session, whole) => aesCheckValue(session, whole),
  T: (session, whole) =>
    encipherBlocks(session, whole, mechanism.des3Ecb, Buffer.alloc(8)).subarray(0, 3),
  H: (session, whole) => macOf(session, whole, Buffer.alloc(0)).subarray(0, lengthBytes),
  E: (session, _, key) => {
    const jwk = publicJwkOf(session, key)
    const spki = createPublicKey({ key: { ...jwk }, format: 'jwk' }).export({
      format: 'der',
      type: 'spki',
    })
    return createHash('sha256').update(spki).digest().subarray(0, lengthBytes)
  },
  R: () => {
    throw new Error('A token makes no RSA keys here.')
  },
}

/** CMAC of zeros. Of one block at a time, CBC from an IV of zeros is the bare cipher. */
function aesCheckValue(session: TokenSession, key: Handle): Buffer {
  const encipher = (block: Uint8Array) => encipherBlocks(session, key, mechanism.aesEcb, block)
  return cmac(encipher, 16, Buffer.alloc(16)).subarray(0, lengthBytes)
}

const coordinateLength = 32

/** The public half of a key pair. @throws Error when it is not on P-256. */
export function publicJwkOf(session: TokenSession, key: TokenKey): SigningKey['publicJwk'] {
  const { cryptoki, handle } = session
  const object = findObject(session, key, 'publicHalf')
  const [found] = cryptoki.C_GetAttributeValue(handle, object, [{ type: attribute.ecPoint }])
  const value = found?.value ?? Buffer.alloc(0)
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
