import { createCipheriv, createDecipheriv, createSecretKey } from 'node:crypto'
import { orRefuseInputs, refuseInputs } from './refusal.ts'

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
