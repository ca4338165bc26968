import { aesBlockLength, encipherAesEcb } from './aes.ts'
import { openAesGcm, type Sealed, sealAesGcm } from './aes-gcm.ts'
import { cmac } from './cmac.ts'
import { refuse } from './refusal.ts'

/** Bytes in a nonce: so many that drawing it at random never gives the same one twice. */
export const xaesNonceLength = 24

const ivLength = 12

/** The key and IV that one nonce leads to. */
export interface XaesSubkey {
  readonly key: Buffer
  readonly iv: Uint8Array
}

/**
 * The key of one message, and the IV under it: SP 800-108 4.1 in counter mode on AES-CMAC, with the
 * label `X` and the first half of the nonce as context (c2sp.org/XAES-256-GCM).
 *
 * @param encipher enciphers one block under the 256-bit key, wherever that lies.
 * @param nonce 24 bytes.
 * @throws CryptoRefusal `aes_gcm_refused` when the nonce has another length.
 */
export function deriveXaesSubkey(
  encipher: (block: Uint8Array) => Buffer,
  nonce: Uint8Array,
): XaesSubkey {
  if (nonce.length !== xaesNonceLength) refuse('aes_gcm_refused')
  const context = nonce.subarray(0, ivLength)
  const half = (counter: 1 | 2): Buffer =>
    cmac(encipher, aesBlockLength, Buffer.concat([Buffer.of(0, counter, 0x58, 0), context]))
  return { key: Buffer.concat([half(1), half(2)]), iv: nonce.subarray(ivLength) }
}

/**
 * Seals bytes with XAES-256-GCM, 128-bit tag (c2sp.org/XAES-256-GCM).
 *
 * @param key 32 bytes.
 * @param nonce 24 bytes, which may be random: 2^80 messages collide with probability 2^-32.
 * @param associated bytes that are bound but not enciphered; may be empty.
 * @throws CryptoRefusal `aes_gcm_refused` when a length is wrong.
 */
export const sealXaesGcm = (
  key: Uint8Array,
  nonce: Uint8Array,
  associated: Uint8Array,
  plaintext: Uint8Array,
): Sealed =>
  withSubkey(subkeyOf(key, nonce), (subkey, iv) => sealAesGcm(subkey, iv, associated, plaintext))

/**
 * Opens what {@link sealXaesGcm} made; nothing of the plaintext is returned unless the tag is right.
 *
 * @param key 32 bytes.
 * @param nonce 24 bytes.
 * @throws CryptoRefusal `aes_gcm_refused`, whether key, nonce, associated bytes, ciphertext or tag is
 *   wrong.
 */
export const openXaesGcm = (
  key: Uint8Array,
  nonce: Uint8Array,
  associated: Uint8Array,
  sealed: { readonly ciphertext: Uint8Array; readonly tag: Uint8Array },
): Buffer =>
  withSubkey(subkeyOf(key, nonce), (subkey, iv) => openAesGcm(subkey, iv, associated, sealed))

/** Works with the key of one message, which is wiped then. */
export function withSubkey<Result>(
  { iv, key }: XaesSubkey,
  work: (key: Uint8Array, iv: Uint8Array) => Result,
): Result {
  try {
    return work(key, iv)
  } finally {
    key.fill(0)
  }
}

function subkeyOf(key: Uint8Array, nonce: Uint8Array): XaesSubkey {
  if (key.length !== 32) refuse('aes_gcm_refused')
  return deriveXaesSubkey((block) => encipherAesEcb(key, block), nonce)
}
