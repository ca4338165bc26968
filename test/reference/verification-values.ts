import { generateCvv } from '../../src/crypto/cvv.ts'
import { isDigits, refuse } from '../../src/crypto/refusal.ts'
import { encipherTdesEcb } from '../../src/crypto/tdes.ts'
import { clearCvkPair } from './keys.ts'
import { orRefuseInputs, refuseInputs } from './refusal.ts'

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

/** What an IBM 3624 PIN is computed from, the key aside. */
export type Ibm3624Inputs = {
  /** 16 hexadecimal digits, see {@link validationDataOfPan}. */
  readonly validationData: string
  /** 16 decimal digits, what 0 to F become. */
  readonly decimalisationTable: string
}

const isHexDigits = (text: string, length: number): boolean =>
  text.length === length && /^[0-9A-Fa-f]+$/.test(text)

/**
 * Validation data of a PAN: its leftmost digits, filled up on the right (IBM 3624; IBM CCA "PIN
 * calculation methods").
 *
 * @param pan 1 to 19 digits, of which at most 16 count.
 * @param pad one hexadecimal digit.
 * @returns 16 hexadecimal digits.
 * @throws ReferenceRefusal when either is anything else.
 */
export function validationDataOfPan(pan: string, pad: string): string {
  if (!isDigits(pan, 1, 19) || !isHexDigits(pad, 1)) refuseInputs()
  return pan.slice(0, 16).padEnd(16, pad)
}

/**
 * Decimalization by a table: each hexadecimal digit becomes the table's digit at its place.
 *
 * @param ciphertext 8 bytes.
 * @param table 16 decimal digits.
 * @param length digits wanted, 1 to 16.
 * @returns the leftmost digits.
 * @throws ReferenceRefusal, whatever is wrong.
 */
export function decimalise(ciphertext: Uint8Array, table: string, length: number): string {
  const isLength = Number.isInteger(length) && length >= 1 && length <= 16
  if (ciphertext.length !== 8 || !isDigits(table, 16, 16) || !isLength) refuseInputs()
  const nibbles = Array.from(ciphertext).flatMap((byte) => [byte >> 4, byte & 15])
  return nibbles
    .map((nibble) => table.charAt(nibble))
    .join('')
    .slice(0, length)
}

/**
 * The natural PIN: the validation data enciphered under the PIN verification key and decimalized
 * (IBM 3624).
 *
 * @param pvk 8, 16 or 24 bytes.
 * @param length digits wanted, 4 to 16.
 * @throws ReferenceRefusal, whatever is wrong.
 */
export function generateNaturalPin(pvk: Uint8Array, inputs: Ibm3624Inputs, length: number): string {
  if (!isHexDigits(inputs.validationData, 16) || length < 4) refuseInputs()
  const validationData = Buffer.from(inputs.validationData, 'hex')
  const ciphertext = orRefuseInputs(() => encipherTdesEcb(pvk, validationData))
  return decimalise(ciphertext, inputs.decimalisationTable, length)
}

/**
 * The offset of a PIN that was chosen: PIN less natural PIN, digit by digit without carry (IBM
 * 3624).
 *
 * @param pin 4 to 16 digits.
 * @returns as many digits.
 * @throws ReferenceRefusal, whatever is wrong.
 */
export function generatePinOffset(pvk: Uint8Array, inputs: Ibm3624Inputs, pin: string): string {
  if (!isDigits(pin, 4, 16)) refuseInputs()
  const natural = generateNaturalPin(pvk, inputs, pin.length)
  return Array.from(pin, (digit, at) => (Number(digit) + 10 - Number(natural[at])) % 10).join('')
}

/**
 * The PIN that an offset belongs to: natural PIN plus offset, digit by digit without carry (IBM
 * 3624).
 *
 * @param offset 4 to 16 digits.
 * @returns as many digits.
 * @throws ReferenceRefusal, whatever is wrong.
 */
export function pinFromOffset(pvk: Uint8Array, inputs: Ibm3624Inputs, offset: string): string {
  if (!isDigits(offset, 4, 16)) refuseInputs()
  const natural = generateNaturalPin(pvk, inputs, offset.length)
  return Array.from(offset, (digit, at) => (Number(digit) + Number(natural[at])) % 10).join('')
}
