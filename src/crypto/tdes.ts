import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto'
import { refuse } from './refusal.ts'

/** Bytes in a DES block. */
export const desBlockLength = 8

type Mode = 'cbc' | 'ecb'

/**
 * Expands a key to the three keys of TDEA (SP 800-67 section 3): 8 bytes K become K, K, K; 16 bytes
 * K1 K2 become K1, K2, K1; 24 bytes are unchanged.
 *
 * @returns 24 bytes.
 * @throws CryptoRefusal `tdes_refused` if the key has another length.
 */
export function expandTdesKey(key: Uint8Array): Buffer {
  // OpenSSL 3 no longer has single DES; with K, K, K, two of the three operations cancel out.
  if (key.length === 8) return Buffer.concat([key, key, key])
  if (key.length === 16) return Buffer.concat([key, key.subarray(0, 8)])
  if (key.length === 24) return Buffer.from(key)
  return refuse('tdes_refused')
}

/**
 * Enciphers whole blocks with TDES in ECB mode, without padding (SP 800-67, SP 800-38A 6.1).
 *
 * @param key 8, 16 or 24 bytes; with 8 bytes, single DES. Parity bits are ignored.
 * @param blocks a multiple of 8 bytes.
 * @throws CryptoRefusal `tdes_refused` on any other length.
 */
export function encipherTdesEcb(key: Uint8Array, blocks: Uint8Array): Buffer {
  return encipher('ecb', key, null, blocks)
}

/**
 * Deciphers whole blocks with TDES in ECB mode, without padding (SP 800-67, SP 800-38A 6.1).
 *
 * @param key 8, 16 or 24 bytes; with 8 bytes, single DES. Parity bits are ignored.
 * @param blocks a multiple of 8 bytes.
 * @throws CryptoRefusal `tdes_refused` on any other length.
 */
export function decipherTdesEcb(key: Uint8Array, blocks: Uint8Array): Buffer {
  return decipher('ecb', key, null, blocks)
}

/**
 * Enciphers whole blocks with TDES in CBC mode, without padding (SP 800-67, SP 800-38A 6.2).
 *
 * @param key 8, 16 or 24 bytes.
 * @param iv 8 bytes.
 * @param blocks a multiple of 8 bytes.
 * @throws CryptoRefusal `tdes_refused` on any other length.
 */
export function encipherTdesCbc(key: Uint8Array, iv: Uint8Array, blocks: Uint8Array): Buffer {
  return encipher('cbc', key, iv, blocks)
}

/**
 * Deciphers whole blocks with TDES in CBC mode, without padding (SP 800-67, SP 800-38A 6.2).
 *
 * @param key 8, 16 or 24 bytes.
 * @param iv 8 bytes.
 * @param blocks a multiple of 8 bytes.
 * @throws CryptoRefusal `tdes_refused` on any other length.
 */
export function decipherTdesCbc(key: Uint8Array, iv: Uint8Array, blocks: Uint8Array): Buffer {
  return decipher('cbc', key, iv, blocks)
}

function encipher(mode: Mode, key: Uint8Array, iv: Uint8Array | null, blocks: Uint8Array): Buffer {
  requireWholeBlocks(iv, blocks)
  const cipher = createCipheriv(`des-ede3-${mode}`, secretKey(key), iv).setAutoPadding(false)
  return Buffer.concat([cipher.update(blocks), cipher.final()])
}

function decipher(mode: Mode, key: Uint8Array, iv: Uint8Array | null, blocks: Uint8Array): Buffer {
  requireWholeBlocks(iv, blocks)
  const decipher = createDecipheriv(`des-ede3-${mode}`, secretKey(key), iv).setAutoPadding(false)
  return Buffer.concat([decipher.update(blocks), decipher.final()])
}

function requireWholeBlocks(iv: Uint8Array | null, blocks: Uint8Array): void {
  const isIv = iv === null || iv.length === desBlockLength
  if (!isIv || blocks.length % desBlockLength !== 0) refuse('tdes_refused')
}

// Node accepts bytes, too, but takes four times as long, and one PIN needs several of these calls.
function secretKey(key: Uint8Array): KeyObject {
  const expanded = expandTdesKey(key)
  const secret = createSecretKey(expanded)
  expanded.fill(0)
  return secret
}
