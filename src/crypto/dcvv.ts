import { generateCvv } from './cvv.ts'
import { isDigits, refuse } from './refusal.ts'
import { encipherTdesEcb } from './tdes.ts'

/** The inputs of a dynamic CVV, except the key. */
type DynamicCvvInputs = {
  /** 12 to 19 digits, check digit included. */
  readonly pan: string
  /** 4 digits, YYMM, as on the track. */
  readonly expiry: string
  /** 3 digits. */
  readonly serviceCode: string
  /** The transaction counter as on the track: 4 digits. */
  readonly atc: string
}

/**
 * Computes the dynamic CVV of a contactless magnetic stripe (Visa Contactless Payment
 * Specification, dCVV; jPOS `calculatedCVV`): a CVV under a key of the card, over a PAN whose first
 * four digits are the transaction counter.
 *
 * @param cardKey 16 bytes, derived with the PAN sequence number 00.
 * @returns 3 digits.
 * @throws CryptoRefusal `cvv_refused` for other inputs.
 */
export async function generateDynamicCvv(
  cardKey: Uint8Array,
  { atc, pan, ...inputs }: DynamicCvvInputs,
): Promise<string> {
  if (cardKey.length !== 16 || !isDigits(atc, 4, 4) || !isDigits(pan, 12, 19)) {
    refuse('cvv_refused')
  }
  const cvkPair = {
    encipherWithA: async (block: Uint8Array) => encipherTdesEcb(cardKey.subarray(0, 8), block),
    encipherWithBoth: async (block: Uint8Array) => encipherTdesEcb(cardKey, block),
  }
  return generateCvv(cvkPair, { ...inputs, pan: `${atc}${pan.slice(4)}` })
}
