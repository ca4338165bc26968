import { decimaliseInTwoPasses } from './pvv.ts'
import { isDigits, refuse, xor } from './refusal.ts'
import { encipherTdesEcb } from './tdes.ts'

/** The service code that makes a CVV2, the value printed on the card. */
export const cvv2ServiceCode = '000'

/** The service code that makes an iCVV, the value in the chip's track 2 equivalent data. */
export const icvvServiceCode = '999'

/** What a card verification value is made of, the keys aside. */
type CvvInputs = {
  /** 12 to 19 digits, check digit included. */
  readonly pan: string
  /**
   * 4 digits, YYMM or MMYY: which of the two belongs to the key's profile and is not known here.
   */
  readonly expiry: string
  /** 3 digits: the card's own, {@link cvv2ServiceCode} or {@link icvvServiceCode}. */
  readonly serviceCode: string
  /** Digits to return, 1 to 16; default 3. */
  readonly length?: number
}

/**
 * Card verification value: one algorithm for CVV, CVV2 and iCVV, told apart by the service code
 * (Visa CVV, Mastercard CVC 1 and 2; IBM CCA "CVV generate").
 *
 * @param cvkPair keys A and B, 16 bytes.
 * @returns `length` digits; never fewer, the second pass of the decimalization sees to that.
 * @throws CryptoRefusal `cvv_refused`, whatever is wrong.
 */
export function generateCvv(cvkPair: Uint8Array, inputs: CvvInputs): string {
  const [first, second] = cvvBlocks(inputs)
  if (cvkPair.length !== 16) refuse('cvv_refused')
  const enciphered = encipherTdesEcb(cvkPair.subarray(0, 8), first)
  // Encipher with A, decipher with B, encipher with A: the double-length TDES of the pair.
  return cvvOf(encipherTdesEcb(cvkPair, xor(enciphered, second)), inputs.length)
}

/**
 * What is enciphered to make a CVV, for a key pair that this process does not hold: the first block
 * under A, its ciphertext combined with the second under the pair.
 *
 * @returns twice 8 bytes.
 * @throws CryptoRefusal `cvv_refused`, whatever is wrong.
 */
export function cvvBlocks(inputs: CvvInputs): readonly [Buffer, Buffer] {
  const { pan, expiry, serviceCode, length = 3 } = inputs
  const isLength = Number.isInteger(length) && length >= 1 && length <= 16
  const isCard = isDigits(pan, 12, 19) && isDigits(expiry, 4, 4) && isDigits(serviceCode, 3, 3)
  if (!isLength || !isCard) refuse('cvv_refused')
  const field = Buffer.from(`${pan}${expiry}${serviceCode}`.padEnd(32, '0'), 'hex')
  return [field.subarray(0, 8), field.subarray(8)]
}

/** The CVV in the ciphertext of its second block: so many digits, 3 unless said. */
export function cvvOf(ciphertext: Uint8Array, length = 3): string {
  return decimaliseInTwoPasses(ciphertext).slice(0, length)
}
