import { computeChipMac } from './emv-mac.ts'
import { refuse } from './refusal.ts'
import { encipherTdesEcb } from './tdes.ts'

/**
 * Computes the start value of a CVC3 over a track: it identifies the card and never changes.
 *
 * @param cardKey the card key for CVC3, 16 bytes.
 * @param track the bytes of the track's template, with zeros for what changes.
 * @returns 2 bytes.
 * @throws CryptoRefusal `emv_refused` for another length.
 */
export const computeIvCvc3 = (cardKey: Uint8Array, track: Uint8Array): Buffer =>
  computeChipMac(cardKey, track, 2).subarray(-2)

/**
 * Computes a dynamic CVC3 of contactless magstripe (Mastercard Contactless Reader Specification).
 *
 * @param cardKey the card key for CVC3, 16 bytes.
 * @param ivCvc3 2 bytes.
 * @param unpredictableNumber 4 bytes.
 * @param atc 2 bytes.
 * @returns 5 digits, of which the track has the last ones.
 * @throws CryptoRefusal `emv_refused` for another length.
 */
export function computeCvc3(
  cardKey: Uint8Array,
  ivCvc3: Uint8Array,
  unpredictableNumber: Uint8Array,
  atc: Uint8Array,
): string {
  const block = Buffer.concat([ivCvc3, unpredictableNumber, atc])
  if (cardKey.length !== 16 || block.length !== 8) refuse('emv_refused')
  const [high = 0, low = 0] = encipherTdesEcb(cardKey, block).subarray(-2)
  return String(high * 256 + low).padStart(5, '0')
}
