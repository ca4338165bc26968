import { aesCmac } from './cmac.ts'
import { orRefuse, refuse } from './refusal.ts'
import { encipherTdesEcb } from './tdes.ts'

/**
 * Key check value of a DES or TDES key: the leftmost bytes of eight zero bytes enciphered under it
 * (X9.24-1:2017 A.2, the "legacy" method). Parity bits are ignored.
 *
 * @param key 8, 16 or 24 bytes.
 * @param lengthBytes 1 to 8; 3 is common.
 * @throws CryptoRefusal `key_check_value_refused` if a length is wrong.
 */
export function tdesKeyCheckValue(key: Uint8Array, lengthBytes = 3): Buffer {
  return leftmost(lengthBytes, () => encipherTdesEcb(key, Buffer.alloc(8)))
}

/**
 * Key check value of an AES key: the leftmost bytes of the AES-CMAC of sixteen zero bytes
 * (X9.24-1:2017 A.3). PKCS#11 defines another value: enciphered zeros.
 *
 * @param key 16, 24 or 32 bytes.
 * @param lengthBytes 1 to 16; X9.143 has 5, 3 is common.
 * @throws CryptoRefusal `key_check_value_refused` if a length is wrong.
 */
export function aesKeyCheckValue(key: Uint8Array, lengthBytes = 5): Buffer {
  return leftmost(lengthBytes, () => aesCmac(key, Buffer.alloc(16)))
}

function leftmost(lengthBytes: number, makeValue: () => Buffer): Buffer {
  const value = orRefuse('key_check_value_refused', makeValue)
  const isLength = Number.isInteger(lengthBytes) && lengthBytes > 0 && lengthBytes <= value.length
  return isLength ? value.subarray(0, lengthBytes) : refuse('key_check_value_refused')
}
