import { cmac } from './cmac.ts'
import { desBlockLength, encipherTdesCbc } from './tdes.ts'

const zeros = Buffer.alloc(desBlockLength)

/**
 * TDES-CMAC (SP 800-38B 6.2 with a 64-bit block).
 *
 * @param key 8, 16 or 24 bytes.
 * @param message any length, also none.
 * @returns 8 bytes.
 * @throws CryptoRefusal `tdes_refused` when the key has another length.
 */
export function tdesCmac(key: Uint8Array, message: Uint8Array): Buffer {
  return cmac((blocks) => encipherTdesCbc(key, zeros, blocks), desBlockLength, message)
}
