import { decimaliseInTwoPasses } from './pvv.ts'
import { isDigits, refuse, xor } from './refusal.ts'

/** The service code of a CVV2, the value printed on the card. */
export const cvv2ServiceCode = '000'

/** The inputs of a card verification value, except the keys. */
type CvvInputs = {
  /** 12 to 19 digits, check digit included. */
  readonly pan: string
  /** 4 digits, YYMM or MMYY. The key's profile defines the order, which is not known here. */
  readonly expiry: string
  /**
   * 3 digits: the card's service code for a CVV, {@link cvv2ServiceCode} for a CVV2, 999 for an
   * iCVV.
   */
  readonly serviceCode: string
  /** The number of digits to return, 1 to 16; default 3. */
  readonly length?: number
}

/** A CVK pair, keys A and B, in this process or in a token. */
interface CvkPair {
  /** Single DES under A. */
  encipherWithA(block: Uint8Array): Promise<Uint8Array>
  /** Encipher with A, decipher with B, encipher with A: the double-length TDES of the pair. */
  encipherWithBoth(block: Uint8Array): Promise<Uint8Array>
}

/**
 * Card verification value: one algorithm for CVV, CVV2 and iCVV, distinguished by the service code
 * (Visa CVV, Mastercard CVC 1 and 2; IBM CCA "CVV generate").
 *
 * @returns `length` digits; the second pass of the decimalization supplies missing ones.
 * @throws CryptoRefusal `cvv_refused`, whatever is wrong with the inputs; errors of the keys.
 */
export async function generateCvv(cvkPair: CvkPair, inputs: CvvInputs): Promise<string> {
  const { pan, expiry, serviceCode, length = 3 } = inputs
  const isLength = Number.isInteger(length) && length >= 1 && length <= 16
  const isCard = isDigits(pan, 12, 19) && isDigits(expiry, 4, 4) && isDigits(serviceCode, 3, 3)
  if (!isLength || !isCard) refuse('cvv_refused')
  const field = Buffer.from(`${pan}${expiry}${serviceCode}`.padEnd(32, '0'), 'hex')
  const first = await cvkPair.encipherWithA(field.subarray(0, 8))
  const both = await cvkPair.encipherWithBoth(xor(first, field.subarray(8)))
  return decimaliseInTwoPasses(both).slice(0, length)
}
