import { createHash, createPublicKey } from 'node:crypto'
import { openAesGcm, sealAesGcm } from '../../crypto/aes-gcm.ts'
import { cmac } from '../../crypto/cmac.ts'
import { withSubkey, type XaesSubkey, xaesSubkeys } from '../../crypto/xaes-256-gcm.ts'
import type { KeyKind } from '../contract/catalogue.ts'
import { KeyRefusal } from '../contract/stored-keys.ts'
import { type Handle, type Mechanism, mechanism, parametersType } from './cryptoki.ts'
import type { TokenKey } from './objects.ts'
import { type PublicHalf, readPublicHalf } from './pairs.ts'
import type { TokenSession } from './session.ts'

const tagLength = 16
/** The maximum growth of an output over its input: a block, or a tag. */
const room = 16

/** Enciphers or deciphers whole blocks (ECB, SP 800-38A 6.1). */
export function encipherBlocks(
  { cryptoki, handle }: TokenSession,
  key: Handle,
  cipher: number,
  blocks: Uint8Array,
): Buffer {
  cryptoki.C_EncryptInit(handle, { mechanism: cipher }, key)
  return cryptoki.C_Encrypt(handle, Buffer.from(blocks), Buffer.alloc(blocks.length + room))
}

/**
 * Returns the last block of CBC from an IV of zeros (SP 800-38A 6.2); the other blocks stay here.
 */
export function chainBlocks(
  { cryptoki, handle }: TokenSession,
  key: Handle,
  cipher: number,
  blocks: Uint8Array,
): Buffer {
  const [chained, length] =
    cipher === mechanism.aesEcb
      ? ([mechanism.aesCbc, 16] as const)
      : ([mechanism.des3Cbc, 8] as const)
  cryptoki.C_EncryptInit(handle, { mechanism: chained, parameter: Buffer.alloc(length) }, key)
  const space = Buffer.alloc(blocks.length + room)
  return Buffer.from(cryptoki.C_Encrypt(handle, Buffer.from(blocks), space).subarray(-length))
}

export function decipherBlocks(
  { cryptoki, handle }: TokenSession,
  key: Handle,
  cipher: number,
  blocks: Uint8Array,
): Buffer {
  cryptoki.C_DecryptInit(handle, { mechanism: cipher }, key)
  return cryptoki.C_Decrypt(handle, Buffer.from(blocks), Buffer.alloc(blocks.length + room))
}

/** The inputs of AES-GCM except the key and the text (SP 800-38D 7.1). */
interface GcmInputs {
  readonly iv: Uint8Array
  readonly associated: Uint8Array
}

const gcm = ({ iv, associated }: GcmInputs): Mechanism => ({
  mechanism: mechanism.aesGcm,
  parameter: {
    type: parametersType.gcm,
    iv: Buffer.from(iv),
    ivBits: iv.length * 8,
    aad: Buffer.from(associated),
    tagBits: tagLength * 8,
  },
})

/** @returns the ciphertext, then the tag. */
export function sealBytes(
  { cryptoki, handle }: TokenSession,
  key: Handle,
  clear: Uint8Array,
  inputs: GcmInputs,
): Buffer {
  cryptoki.C_EncryptInit(handle, gcm(inputs), key)
  const space = Buffer.alloc(clear.length + tagLength + room)
  // Modules refuse an empty input, which still has a tag.
  return clear.length === 0
    ? cryptoki.C_EncryptFinal(handle, space)
    : cryptoki.C_Encrypt(handle, Buffer.from(clear), space)
}

/** @param sealed the ciphertext, then the tag. */
export function openBytes(
  { cryptoki, handle }: TokenSession,
  key: Handle,
  sealed: Uint8Array,
  inputs: GcmInputs,
): Buffer {
  cryptoki.C_DecryptInit(handle, gcm(inputs), key)
  return cryptoki.C_Decrypt(handle, Buffer.from(sealed), Buffer.alloc(sealed.length + room))
}

/** HMAC-SHA-256 (FIPS 198-1). */
export function computeMac(
  { cryptoki, handle }: TokenSession,
  key: Handle,
  message: Uint8Array,
): Buffer {
  cryptoki.C_SignInit(handle, { mechanism: mechanism.sha256Hmac }, key)
  const space = Buffer.alloc(32)
  return message.length === 0
    ? cryptoki.C_SignFinal(handle, space)
    : cryptoki.C_Sign(handle, Buffer.from(message), space)
}

export const drawBytes = ({ cryptoki, handle }: TokenSession, lengthBytes: number): Buffer =>
  cryptoki.C_GenerateRandom(handle, Buffer.alloc(lengthBytes))

/** The length of check values of AES (X9.143, annex C) and of those without a standard length. */
const lengthBytes = 5

/**
 * Computes the check value of a key that is only in the token, equal to the value from its bytes.
 */
export const tokenCheckValue = (
  session: TokenSession,
  { algorithm }: Pick<KeyKind, 'algorithm'>,
  key: TokenKey,
  whole: Handle,
): string => checks[algorithm](session, whole, key).toString('hex').toUpperCase()

type Check = (session: TokenSession, whole: Handle, key: TokenKey) => Buffer

const checks: Record<KeyKind['algorithm'], Check> = {
  // CMAC of zeros. For a single block, CBC from an IV of zeros is the bare cipher.
  A: (session, whole) =>
    cmac(
      (block) => encipherBlocks(session, whole, mechanism.aesEcb, block),
      16,
      Buffer.alloc(16),
    ).subarray(0, lengthBytes),
  T: (session, whole) =>
    encipherBlocks(session, whole, mechanism.des3Ecb, Buffer.alloc(8)).subarray(0, 3),
  H: (session, whole) => computeMac(session, whole, Buffer.alloc(0)).subarray(0, lengthBytes),
  E: (session, _, key) => publicKeyHash(readPublicHalf(session, key)),
  R: (session, _, key) => publicKeyHash(readPublicHalf(session, key)),
  1: () => {
    throw new KeyRefusal('The token does not support ML-DSA-44.')
  },
}

function publicKeyHash(jwk: PublicHalf): Buffer {
  const publicKey = createPublicKey({ key: { ...jwk }, format: 'jwk' })
  const spki = publicKey.export({ format: 'der', type: 'spki' })
  return createHash('sha256').update(spki).digest().subarray(0, lengthBytes)
}

/** The inputs of XAES-256-GCM except the key and the record. */
interface RecordInputs {
  readonly nonce: Uint8Array
  readonly associated: Uint8Array
}

/**
 * Seals a record under a key that the token derives from a key that never leaves it (XAES-256-GCM).
 * The derived key is used in the token's process, where the clear text is anyway, and is then
 * wiped: few modules can derive such keys inside the token.
 * @returns the ciphertext, then the tag.
 */
export const sealRecord = (
  session: TokenSession,
  key: Handle,
  clear: Uint8Array,
  { nonce, associated }: RecordInputs,
): Buffer =>
  withSubkey(derive(session, key, nonce), (subkey, iv) => {
    const { ciphertext, tag } = sealAesGcm(subkey, iv, associated, clear)
    return Buffer.concat([ciphertext, tag])
  })

/** @param sealed the ciphertext, then the tag. */
export const openRecord = (
  session: TokenSession,
  key: Handle,
  sealed: Uint8Array,
  { nonce, associated }: RecordInputs,
): Buffer =>
  withSubkey(derive(session, key, nonce), (subkey, iv) =>
    openAesGcm(subkey, iv, associated, {
      ciphertext: sealed.subarray(0, -tagLength),
      tag: sealed.subarray(-tagLength),
    }),
  )

const derive = (session: TokenSession, key: Handle, nonce: Uint8Array): XaesSubkey =>
  xaesSubkeys((blocks) => encipherBlocks(session, key, mechanism.aesEcb, blocks))(nonce)
