import { isDigits, isPinText, refuse } from './refusal.ts'

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

/** A PIN verification key, wherever it lies: whole blocks of TDES, each by itself (ECB). */
interface PinVerificationKey {
  encipher(blocks: Uint8Array): Promise<Uint8Array>
}

/**
 * Visa PIN verification value: the transformed security parameter (the 11 rightmost PAN digits but
 * for the check digit, the PVKI, the 4 leftmost PIN digits) enciphered under the PIN verification
 * key and decimalized in two passes (Visa PVV; IBM CCA "Visa PIN algorithms").
 *
 * @returns 4 digits.
 * @throws CryptoRefusal `pvv_refused`, whatever is wrong with the inputs; what the key throws.
 */
export async function generatePvv(
  pvk: PinVerificationKey,
  { pan, pvki, pin }: PvvInputs,
): Promise<string> {
  if (!isDigits(pan, 12, 19) || !isDigits(pvki, 1, 1) || !isPinText(pin)) refuse('pvv_refused')
  const parameter = Buffer.from(`${pan.slice(-12, -1)}${pvki}${pin.slice(0, 4)}`, 'hex')
  return decimaliseInTwoPasses(await pvk.encipher(parameter)).slice(0, 4)
}
