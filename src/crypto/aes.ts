import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto'
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
  return encipher('ecb', key, null, blocks)
}

/**
 * Deciphers whole blocks with AES in ECB mode, without padding (FIPS 197, SP 800-38A 6.1).
 *
 * @param key 16, 24 or 32 bytes.
 * @param blocks a multiple of 16 bytes.
 * @throws CryptoRefusal `aes_refused` on any other length.
 */
export function decipherAesEcb(key: Uint8Array, blocks: Uint8Array): Buffer {
  return decipher('ecb', key, null, blocks)
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
  return encipher('cbc', key, iv, blocks)
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
  return decipher('cbc', key, iv, blocks)
}

function encipher(mode: Mode, key: Uint8Array, iv: Uint8Array | null, blocks: Uint8Array): Buffer {
  requireWholeBlocks(iv, blocks)
  const name = `aes-${key.length * 8}-${mode}`
  const cipher = createCipheriv(name, secretKey(key), iv).setAutoPadding(false)
  return Buffer.concat([cipher.update(blocks), cipher.final()])
}

function decipher(mode: Mode, key: Uint8Array, iv: Uint8Array | null, blocks: Uint8Array): Buffer {
  requireWholeBlocks(iv, blocks)
  const name = `aes-${key.length * 8}-${mode}`
  const decipher = createDecipheriv(name, secretKey(key), iv).setAutoPadding(false)
  return Buffer.concat([decipher.update(blocks), decipher.final()])
}

function requireWholeBlocks(iv: Uint8Array | null, blocks: Uint8Array): void {
  const isIv = iv === null || iv.length === aesBlockLength
  if (!isIv || blocks.length % aesBlockLength !== 0) refuse('aes_refused')
}

// Node accepts bytes, too, but takes four times as long, and one PIN needs several of these calls.
function secretKey(key: Uint8Array): KeyObject {
  return [16, 24, 32].includes(key.length) ? createSecretKey(key) : refuse('aes_refused')
}

/**
 * Enciphers a text of any length with AES-256 in CBC mode, with PKCS#7 padding (SP 800-38A 6.2, RFC
 * 5652 6.3). CBC does not detect changes: sign the result.
 *
 * @param key 32 bytes.
 * @param iv 16 bytes, unpredictable, unique under its key.
 * @throws CryptoRefusal `aes_refused` on any other length.
 */
export function encipherPaddedAesCbc(key: Uint8Array, iv: Uint8Array, clear: Uint8Array): Buffer {
  if (key.length !== 32 || iv.length !== 16) refuse('aes_refused')
  const cipher = createCipheriv('aes-256-cbc', createSecretKey(key), iv)
  return Buffer.concat([cipher.update(clear), cipher.final()])
}
