import { createCipheriv, createDecipheriv, createSecretKey } from 'node:crypto'
import { decipherAesEcb, encipherAesEcb } from '../../src/crypto/aes.ts'
import { refuse } from '../../src/crypto/refusal.ts'
import { decipherTdesEcb, encipherTdesEcb } from '../../src/crypto/tdes.ts'
import { orRefuseInputs, refuseInputs } from './refusal.ts'

/** Keys whose bytes a test or a vector knows, in the form in which primitives take them. */

const ciphers = {
  AES: { encipher: encipherAesEcb, decipher: decipherAesEcb },
  TDES: { encipher: encipherTdesEcb, decipher: decipherTdesEcb },
} as const

/** A key over whole blocks: TDES of 8, 16 or 24 bytes, AES of 16, 24 or 32. */
export const clearBlockKey = (cipher: keyof typeof ciphers, key: Uint8Array) => ({
  cipher,
  encipher: async (blocks: Uint8Array) => ciphers[cipher].encipher(key, blocks),
  decipher: async (blocks: Uint8Array) => ciphers[cipher].decipher(key, blocks),
})

/** A CVK pair of 16 bytes. @throws CryptoRefusal `cvv_refused` on any other length. */
export function clearCvkPair(cvkPair: Uint8Array) {
  if (cvkPair.length !== 16) refuse('cvv_refused')
  return {
    encipherWithA: async (block: Uint8Array) => encipherTdesEcb(cvkPair.subarray(0, 8), block),
    encipherWithBoth: async (block: Uint8Array) => encipherTdesEcb(cvkPair, block),
  }
}

/** The default initial value (RFC 3394 2.2.3.1). */
const initialValue = Buffer.alloc(8, 0xa6)

/**
 * Wraps a key with AES key wrap (RFC 3394 2.2.1, SP 800-38F KW).
 *
 * @param kek the key-encryption key: 16, 24 or 32 bytes.
 * @param key at least 16 bytes, a multiple of 8.
 * @returns 8 bytes more than the key.
 * @throws ReferenceRefusal on any other length.
 */
export function wrapAesKey(kek: Uint8Array, key: Uint8Array): Buffer {
  const name = algorithm(kek, key.length)
  return orRefuseInputs(() => {
    const cipher = createCipheriv(name, createSecretKey(kek), initialValue)
    return Buffer.concat([cipher.update(key), cipher.final()])
  })
}

/**
 * Unwraps what {@link wrapAesKey} made (RFC 3394 2.2.2).
 *
 * @param kek the key-encryption key: 16, 24 or 32 bytes.
 * @param wrapped at least 24 bytes, a multiple of 8.
 * @throws ReferenceRefusal, whether a length, the key or the wrapped bytes are
 *   wrong.
 */
export function unwrapAesKey(kek: Uint8Array, wrapped: Uint8Array): Buffer {
  const name = algorithm(kek, wrapped.length - 8)
  return orRefuseInputs(() => {
    const decipher = createDecipheriv(name, createSecretKey(kek), initialValue)
    return Buffer.concat([decipher.update(wrapped), decipher.final()])
  })
}

function algorithm(kek: Uint8Array, keyLength: number): string {
  const isKek = [16, 24, 32].includes(kek.length)
  // Fewer than two semiblocks are not defined: RFC 3394 2, "n >= 2".
  if (!isKek || keyLength < 16 || keyLength % 8 !== 0) refuseInputs()
  return `id-aes${kek.length * 8}-wrap`
}

/** The keys of a block of version A or C are the KBPK with each byte changed (TR-31:2018 5.3.1). */
const variants = { encryption: 0x45, authentication: 0x4d } as const

/**
 * The two keys of a key block of version A or C, which the product takes no block in.
 *
 * @param kbpk 16 or 24 bytes.
 * @throws CryptoRefusal `key_derivation_refused` on any other length.
 */
export function keyBlockVariantsOf(kbpk: Uint8Array): { kbek: Buffer; kbak: Buffer } {
  if (kbpk.length !== 16 && kbpk.length !== 24) refuse('key_derivation_refused')
  const varied = (variant: number): Buffer => Buffer.from(kbpk.map((byte) => byte ^ variant))
  return { kbek: varied(variants.encryption), kbak: varied(variants.authentication) }
}
