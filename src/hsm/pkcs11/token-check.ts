import { createHash, createPublicKey } from 'node:crypto'
import { cmac } from '../../crypto/cmac.ts'
import type { KeyKind } from '../key-table.ts'
import { mechanism } from './constants.ts'
import type { Handle } from './cryptoki.ts'
import { encipherBlocks, macOf } from './token-ciphers.ts'
import type { TokenKey } from './token-key.ts'
import { type PublicHalf, publicHalfOf } from './token-public-halves.ts'
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
  E: (session, _, key) => publicKeyHash(publicHalfOf(session, key)),
  R: (session, _, key) => publicKeyHash(publicHalfOf(session, key)),
}

function publicKeyHash(jwk: PublicHalf): Buffer {
  const publicKey = createPublicKey({ key: { ...jwk }, format: 'jwk' })
  const spki = publicKey.export({ format: 'der', type: 'spki' })
  return createHash('sha256').update(spki).digest().subarray(0, lengthBytes)
}

/** CMAC of zeros. Of one block at a time, CBC from an IV of zeros is the bare cipher. */
function aesCheckValue(session: TokenSession, key: Handle): Buffer {
  const encipher = (block: Uint8Array) => encipherBlocks(session, key, mechanism.aesEcb, block)
  return cmac(encipher, 16, Buffer.alloc(16)).subarray(0, lengthBytes)
}
