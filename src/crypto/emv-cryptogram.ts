import { computeChipMac, type MacPadding } from './emv-mac.ts'
import { refuse, xor } from './refusal.ts'
import { encipherTdesEcb } from './tdes.ts'

/**
 * Computes an application cryptogram (EMV Book 2, 8.1).
 *
 * @param key 16 bytes: the session key, or the card key where the scheme has no session keys.
 * @param data the values of the tags that enter, in their order.
 * @returns 8 bytes.
 * @throws CryptoRefusal `emv_refused`.
 */
export const computeCryptogram = (key: Uint8Array, data: Uint8Array, padding: MacPadding): Buffer =>
  computeChipMac(key, data, padding)

/**
 * Computes the issuer's answer to a chip by method 1 (EMV Book 2, 8.2.1).
 *
 * @param key 16 bytes.
 * @param arqc the chip's cryptogram, 8 bytes.
 * @param responseCode the authorization response code, 2 bytes.
 * @returns 8 bytes.
 * @throws CryptoRefusal `emv_refused` for another length.
 */
export function computeArpc1(key: Uint8Array, arqc: Uint8Array, responseCode: Uint8Array): Buffer {
  if (key.length !== 16 || arqc.length !== 8 || responseCode.length !== 2) refuse('emv_refused')
  return encipherTdesEcb(key, xor(arqc, Buffer.concat([responseCode, Buffer.alloc(6)])))
}

/**
 * Computes the issuer's answer to a chip by method 2 (EMV Book 2, 8.2.2).
 *
 * @param key the session key, 16 bytes.
 * @param arqc the chip's cryptogram, 8 bytes.
 * @param cardStatusUpdate 4 bytes.
 * @param proprietaryData 0 to 8 bytes.
 * @returns 4 bytes.
 * @throws CryptoRefusal `emv_refused` for another length.
 */
export function computeArpc2(
  key: Uint8Array,
  arqc: Uint8Array,
  cardStatusUpdate: Uint8Array,
  proprietaryData: Uint8Array,
): Buffer {
  if (arqc.length !== 8 || cardStatusUpdate.length !== 4 || proprietaryData.length > 8) {
    refuse('emv_refused')
  }
  const message = Buffer.concat([arqc, cardStatusUpdate, proprietaryData])
  return computeChipMac(key, message, 2).subarray(0, 4)
}
