import { isDigits, isPinText, orRefuse, refuse } from './refusal.ts'
import { encipherTdesEcb } from './tdes.ts'

/**
 * Decimalization of a ciphertext in two passes, as PVV and CVV share it: from left to right the
 * decimal digits, then from left to right A to F as 0 to 5 (the Visa PVV and CVV methods).
 *
 * @param ciphertext any number of bytes; n bytes always give 2n digits, so 8 bytes never fall
 *   short.
 * @returns two digits per byte of ciphertext.
 */
export function decimaliseInTwoPasses(ciphertext: Uint8Array): string {
  const nibbles = Array.from(ciphertext).flatMap((byte) => [byte >> 4, byte & 15])
  const decimal = nibbles.filter((nibble) => nibble < 10)
  const letters = nibbles.filter((nibble) => nibble >= 10).map((nibble) => nibble - 10)
  return [...decimal, ...letters].join('')
}

/** What a PIN verification value is made of, the key aside. */
type PvvInputs = {
  /** 12 to 19 digits, check digit included. */
  readonly pan: string
  /** PIN verification key indicator, one digit; schemes assign 1 to 6, and 0 means none. */
  readonly pvki: string
  /** 4 to 12 digits, of which only the first four count. */
  readonly pin: string
}

/**
 * Visa PIN verification value: the transformed security parameter (the 11 rightmost PAN digits but
 * for the check digit, the PVKI, the 4 leftmost PIN digits) enciphered under the PIN verification
 * key and decimalized in two passes (Visa PVV; IBM CCA "Visa PIN algorithms").
 *
 * @param pvk 8, 16 or 24 bytes; 16 is what schemes use.
 * @returns 4 digits.
 * @throws CryptoRefusal `pvv_refused`, whatever is wrong.
 */
export function generatePvv(pvk: Uint8Array, inputs: PvvInputs): string {
  const parameter = transformedSecurityParameter(inputs)
  return pvvOf(orRefuse('pvv_refused', () => encipherTdesEcb(pvk, parameter)))
}

/**
 * What is enciphered to make a PVV, for a key that this process does not hold.
 *
 * @returns 8 bytes.
 * @throws CryptoRefusal `pvv_refused`, whatever is wrong.
 */
export function transformedSecurityParameter({ pan, pvki, pin }: PvvInputs): Buffer {
  if (!isDigits(pan, 12, 19) || !isDigits(pvki, 1, 1) || !isPinText(pin)) refuse('pvv_refused')
  return Buffer.from(`${pan.slice(-12, -1)}${pvki}${pin.slice(0, 4)}`, 'hex')
}

/** The PVV in a transformed security parameter that was enciphered: 4 digits. */
export function pvvOf(ciphertext: Uint8Array): string {
  return decimaliseInTwoPasses(ciphertext).slice(0, 4)
}
