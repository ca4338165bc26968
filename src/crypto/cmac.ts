import { aesBlockLength, encipherAesCbc } from './aes.ts'
import { xor } from './refusal.ts'
import { desBlockLength, encipherTdesCbc } from './tdes.ts'

/** A block cipher under one key in CBC mode: enciphers whole blocks, from an IV of zeros. */
type CbcCipher = (blocks: Uint8Array) => Buffer

/** The last byte of the irreducible polynomial for each block length (SP 800-38B 5.3). */
const reductions: Record<8 | 16, number> = { 8: 0x1b, 16: 0x87 }

/**
 * CMAC of a message of any length (SP 800-38B 6.2, RFC 4493).
 *
 * @param encipher the block cipher under the MAC key.
 * @param blockLength bytes in a block of that cipher.
 * @returns one whole block; the caller truncates it.
 */
export function cmac(encipher: CbcCipher, blockLength: 8 | 16, message: Uint8Array): Buffer {
  const ofZeros = encipher(Buffer.alloc(blockLength))
  return encipher(cmacBlocks(ofZeros, blockLength, message)).subarray(-blockLength)
}

/**
 * Returns the whole blocks whose last block, enciphered in CBC mode, is the CMAC of a message (SP
 * 800-38B 6.2).
 *
 * @param ofZeros a block of zeros, enciphered under the key.
 */
export function cmacBlocks(ofZeros: Buffer, blockLength: 8 | 16, message: Uint8Array): Buffer {
  const whole = Math.max(Math.ceil(message.length / blockLength) - 1, 0) * blockLength
  const last = lastBlock(message.subarray(whole), double(ofZeros, blockLength), blockLength)
  return Buffer.concat([message.subarray(0, whole), last])
}

/** K1, the mask of a whole last block. It depends on the key only (SP 800-38B 6.1). */
export const cmacSubkey = (encipher: CbcCipher, blockLength: 8 | 16): Buffer =>
  double(encipher(Buffer.alloc(blockLength)), blockLength)

/**
 * Masks the last block: a complete one with K1, a padded one with K2 (SP 800-38B 6.2 steps 1 to 4).
 */
function lastBlock(rest: Uint8Array, subkey: Buffer, blockLength: 8 | 16): Buffer {
  if (rest.length === blockLength) return xor(rest, subkey)
  const padded = Buffer.alloc(blockLength)
  padded.set(rest)
  padded[rest.length] = 0x80
  return xor(padded, double(subkey, blockLength))
}

/** Doubling in GF(2^b), without a branch on the secret bit (SP 800-38B 6.1). */
function double(block: Buffer, blockLength: 8 | 16): Buffer {
  const carry = (block[0] ?? 0) >> 7
  const doubled = Buffer.from(block.map((byte, at) => (byte << 1) | ((block[at + 1] ?? 0) >> 7)))
  doubled[blockLength - 1] = (doubled[blockLength - 1] ?? 0) ^ (carry * reductions[blockLength])
  return doubled
}

const zeros = Buffer.alloc(aesBlockLength)

/**
 * AES-CMAC (RFC 4493 2.4, SP 800-38B 6.2).
 *
 * @param key 16, 24 or 32 bytes.
 * @param message any length, including 0.
 * @returns 16 bytes.
 * @throws CryptoRefusal `aes_refused` when the key has another length.
 */
export function aesCmac(key: Uint8Array, message: Uint8Array): Buffer {
  return cmac((blocks) => encipherAesCbc(key, zeros, blocks), aesBlockLength, message)
}

const tdesZeros = Buffer.alloc(desBlockLength)

/**
 * TDES-CMAC (SP 800-38B 6.2 with a 64-bit block).
 *
 * @param key 8, 16 or 24 bytes.
 * @param message any length, including 0.
 * @returns 8 bytes.
 * @throws CryptoRefusal `tdes_refused` when the key has another length.
 */
export function tdesCmac(key: Uint8Array, message: Uint8Array): Buffer {
  return cmac((blocks) => encipherTdesCbc(key, tdesZeros, blocks), desBlockLength, message)
}
