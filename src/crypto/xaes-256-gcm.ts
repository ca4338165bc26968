import { createCipheriv, createSecretKey } from 'node:crypto'
import { aesBlockLength } from './aes.ts'
import { openAesGcm, type Sealed, sealAesGcm } from './aes-gcm.ts'
import { cmacSubkey } from './cmac.ts'
import { refuse, xor } from './refusal.ts'

/** The number of bytes in a nonce. Random nonces of this length are unique in practice. */
export const xaesNonceLength = 24

const ivLength = 12

/** The key and the IV derived from one nonce. */
export interface XaesSubkey {
  readonly key: Buffer
  readonly iv: Uint8Array
}

/**
 * A key of XAES-256-GCM with 128-bit tags (c2sp.org/XAES-256-GCM), prepared once for many messages.
 */
interface XaesKey {
  /**
   * @param nonce 24 bytes, which may be random: 2^80 messages collide with probability 2^-32.
   * @param associated authenticated, not enciphered; may be empty.
   * @throws CryptoRefusal `aes_gcm_refused` if the nonce has another length.
   */
  seal(nonce: Uint8Array, associated: Uint8Array, plaintext: Uint8Array): Sealed
  /**
   * Opens the output of {@link XaesKey.seal}. Returns no plaintext unless the tag is right.
   * @throws CryptoRefusal `aes_gcm_refused`, whether key, nonce, associated bytes, ciphertext or
   *   tag is wrong.
   */
  open(
    nonce: Uint8Array,
    associated: Uint8Array,
    sealed: { readonly ciphertext: Uint8Array; readonly tag: Uint8Array },
  ): Buffer
}

/**
 * @param key 32 bytes.
 * @throws CryptoRefusal `aes_gcm_refused` on any other length.
 */
export function xaesKey(key: Uint8Array): XaesKey {
  if (key.length !== 32) refuse('aes_gcm_refused')
  // Without padding or chaining, a cipher has no state between calls, and creating one costs more
  // than its work for a message.
  const cipher = createCipheriv('aes-256-ecb', createSecretKey(key), null).setAutoPadding(false)
  const derive = xaesSubkeys((blocks) => cipher.update(blocks))
  return {
    seal: (nonce, associated, plaintext) =>
      withSubkey(derive(nonce), (subkey, iv) => sealAesGcm(subkey, iv, associated, plaintext)),
    open: (nonce, associated, sealed) =>
      withSubkey(derive(nonce), (subkey, iv) => openAesGcm(subkey, iv, associated, sealed)),
  }
}

/**
 * Derives the key and the IV of each message: SP 800-108 4.1 in counter mode with AES-CMAC, the
 * label `X` and the first half of the nonce as context (c2sp.org/XAES-256-GCM). Each of the two
 * CMAC messages is one whole block, so one call enciphers both.
 *
 * @param encipher enciphers whole blocks under the 256-bit key in ECB mode, in this process or in a
 *   token.
 * @returns a function of a nonce of 24 bytes; it refuses other lengths with `aes_gcm_refused`.
 */
export function xaesSubkeys(
  encipher: (blocks: Uint8Array) => Buffer,
): (nonce: Uint8Array) => XaesSubkey {
  const mask = cmacSubkey(encipher, aesBlockLength)
  const masks = Buffer.concat([mask, mask])
  return (nonce) => {
    if (nonce.length !== xaesNonceLength) refuse('aes_gcm_refused')
    const context = nonce.subarray(0, ivLength)
    const half = (counter: 1 | 2) => [Buffer.of(0, counter, 0x58, 0), context]
    const key = encipher(xor(Buffer.concat([...half(1), ...half(2)]), masks))
    return { key, iv: nonce.subarray(ivLength) }
  }
}

/** Calls a function with the key of one message and wipes the key afterwards. */
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
