import { aesBlockLength, encipherAesCbc } from './aes.ts'
import { cmac } from './cmac.ts'

const zeros = Buffer.alloc(aesBlockLength)

/**
 * AES-CMAC (RFC 4493 2.4, SP 800-38B 6.2).
 *
 * @param key 16, 24 or 32 bytes.
 * @param message any length, also none.
 * @returns 16 bytes.
 * @throws CryptoRefusal `aes_refused` when the key has another length.
 */
export function aesCmac(key: Uint8Array, message: Uint8Array): Buffer {
  return cmac((blocks) => encipherAesCbc(key, zeros, blocks), aesBlockLength, message)
}
