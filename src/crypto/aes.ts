import { createCipheriv, createDecipheriv } from 'node:crypto'
import { refuse } from './refusal.ts'

/** Bytes in an AES block. */
export const aesBlockLength = 16

type Mode = 'cbc' | 'ecb'

/**
 * Enciphers whole blocks with AES in ECB mode, without padding (FIPS 197, SP 800-38A 6.1).
 *
 * @param key 16, 24 or 32 bytes.
 * @param blocks a multiple of 16 bytes.
 * @throws CryptoRefusal `aes_refused` on any other length.
 */
export function encipherAesEcb(key: Uint8Array, blocks: Uint8Array): Buffer {
  const cipher = createCipheriv(algorithm(key, 'ecb', blocks), key, null).setAutoPadding(false)
  return Buffer.concat([cipher.update(blocks), cipher.final()])
}

/**
 * Deciphers whole blocks with AES in ECB mode, without padding (FIPS 197, SP 800-38A 6.1).
 *
 * @param key 16, 24 or 32 bytes.
 * @param blocks a multiple of 16 bytes.
 * @throws CryptoRefusal `aes_refused` on any other length.
 */
export function decipherAesEcb(key: Uint8Array, blocks: Uint8Array): Buffer {
  const decipher = createDecipheriv(algorithm(key, 'ecb', blocks), key, null).setAutoPadding(false)
  return Buffer.concat([decipher.update(blocks), decipher.final()])
}

/**
 * Enciphers whole blocks with AES in CBC mode, without padding (SP 800-38A 6.2).
 *
 * @param key 16, 24 or 32 bytes.
 * @param iv 16 bytes.
 * @param blocks a multiple of 16 bytes.
 * @throws CryptoRefusal `aes_refused` on any other length.
 */
export function encipherAesCbc(key: Uint8Array, iv: Uint8Array, blocks: Uint8Array): Buffer {
  const cipher = createCipheriv(algorithm(key, 'cbc', blocks, iv), key, iv).setAutoPadding(false)
  return Buffer.concat([cipher.update(blocks), cipher.final()])
}

/**
 * Deciphers whole blocks with AES in CBC mode, without padding (SP 800-38A 6.2).
 *
 * @param key 16, 24 or 32 bytes.
 * @param iv 16 bytes.
 * @param blocks a multiple of 16 bytes.
 * @throws CryptoRefusal `aes_refused` on any other length.
 */
export function decipherAesCbc(key: Uint8Array, iv: Uint8Array, blocks: Uint8Array): Buffer {
  const name = algorithm(key, 'cbc', blocks, iv)
  const decipher = createDecipheriv(name, key, iv).setAutoPadding(false)
  return Buffer.concat([decipher.update(blocks), decipher.final()])
}

function algorithm(key: Uint8Array, mode: Mode, blocks: Uint8Array, iv?: Uint8Array): string {
  const isKey = [16, 24, 32].includes(key.length)
  const isIv = iv === undefined || iv.length === aesBlockLength
  if (!isKey || !isIv || blocks.length % aesBlockLength !== 0) refuse('aes_refused')
  return `aes-${key.length * 8}-${mode}`
}
