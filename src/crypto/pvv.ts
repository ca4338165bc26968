import { isDigits, isPinText, refuse } from './refusal.ts'

/**
 * Decimalizes a ciphertext in two passes, as PVV and CVV do: from left to right the decimal digits,
 * then from left to right A to F as 0 to 5 (the Visa PVV and CVV methods).
 *
 * @param ciphertext any number of bytes; n bytes always give 2n digits.
 * @returns two digits per byte of ciphertext.
 */
export function decimaliseInTwoPasses(ciphertext: Uint8Array): string {
  const nibbles = Array.from(ciphertext).flatMap((byte) => [byte >> 4, byte & 15])
  const decimal = nibbles.filter((nibble) => nibble < 10)
  const letters = nibbles.filter((nibble) => nibble >= 10).map((nibble) => nibble - 10)
  return [...decimal, ...letters].join('')
}

/** The inputs of a PIN verification value, except the key. */
type PvvInputs = {
  /** 12 to 19 digits, check digit included. */
  readonly pan: string
  /** PIN verification key indicator, one digit. Schemes assign 1 to 6; 0 means no key. */
  readonly pvki: string
  /** 4 to 12 digits, of which only the first four count. */
  readonly pin: string
}

/**
 * A PIN verification key, in this process or in a token. It enciphers whole blocks with TDES, each
 * block separately (ECB).
 */
interface PinVerificationKey {
  encipher(blocks: Uint8Array): Promise<Uint8Array>
}

/**
 * Generates a Visa PIN verification value: the transformed security parameter (the 11 rightmost PAN
 * digits without the check digit, the PVKI, the 4 leftmost PIN digits) enciphered under the PIN
 * verification key and decimalized in two passes (Visa PVV; IBM CCA "Visa PIN algorithms").
 *
 * @returns 4 digits.
 * @throws CryptoRefusal `pvv_refused`, whatever is wrong with the inputs; errors of the key.
 */
export async function generatePvv(
  pvk: PinVerificationKey,
  { pan, pvki, pin }: PvvInputs,
): Promise<string> {
  if (!isDigits(pan, 12, 19) || !isDigits(pvki, 1, 1) || !isPinText(pin)) refuse('pvv_refused')
  const parameter = Buffer.from(`${pan.slice(-12, -1)}${pvki}${pin.slice(0, 4)}`, 'hex')
  return decimaliseInTwoPasses(await pvk.encipher(parameter)).slice(0, 4)
}
