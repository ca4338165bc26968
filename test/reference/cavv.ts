import { generateCvv } from '../../src/crypto/cvv.ts'
import { isDigits, refuse } from '../../src/crypto/refusal.ts'
import { clearCvkPair } from './clear-keys.ts'

/** What the verification value of a 3-D Secure authentication is made of, the keys aside. */
type CavvInputs = {
  /** 1 to 19 digits, check digit included. */
  readonly pan: string
  /** 4 digits of the authentication tracking number; they stand where a card has its expiry. */
  readonly trackingNumber: string
  /**
   * 3 digits: authentication result and second factor; they stand where a card has its service
   * code.
   */
  readonly serviceCode: string
  /** Digits to return, 1 to 16; default 3. */
  readonly length?: number
}

/**
 * The PAN as 3-D Secure takes it: its 16 rightmost digits, or zeros before it up to 16.
 *
 * @param pan 1 to 19 digits.
 * @throws CryptoRefusal `cvv_refused` when it is anything else.
 */
export function normalisePanForCavv(pan: string): string {
  return isDigits(pan, 1, 19) ? pan.slice(-16).padStart(16, '0') : refuse('cvv_refused')
}

/**
 * Verification value in a 3-D Secure CAVV or AAV: the CVV algorithm over the normalised PAN, the
 * tracking number and the authentication result (Visa CAVV, Mastercard SPA AAV with CVC 2).
 *
 * @param cvkPair keys A and B, 16 bytes.
 * @returns `length` digits.
 * @throws CryptoRefusal `cvv_refused`, whatever is wrong.
 */
export async function generateCavv(cvkPair: Uint8Array, inputs: CavvInputs): Promise<string> {
  const { pan, trackingNumber, ...others } = inputs
  return generateCvv(clearCvkPair(cvkPair), {
    ...others,
    pan: normalisePanForCavv(pan),
    expiry: trackingNumber,
  })
}
