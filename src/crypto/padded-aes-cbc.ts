import { createCipheriv, createSecretKey } from 'node:crypto'
import { refuse } from './refusal.ts'

/**
 * Enciphers a text of any length with AES-256 in CBC mode, padded as PKCS#7 says (SP 800-38A 6.2, RFC
 * 5652 6.3). It notices no change by itself: sign what it gives.
 *
 * @param key 32 bytes.
 * @param iv 16 bytes, unpredictable, never used twice under one key.
 * @throws CryptoRefusal `aes_refused` on any other length.
 */
export function encipherPaddedAesCbc(key: Uint8Array, iv: Uint8Array, clear: Uint8Array): Buffer {
  if (key.length !== 32 || iv.length !== 16) refuse('aes_refused')
  const cipher = createCipheriv('aes-256-cbc', createSecretKey(key), iv)
  return Buffer.concat([cipher.update(clear), cipher.final()])
}
