import { randomBytes } from 'node:crypto'
import { fillLength, readPinField, writePinField } from './pin-field.ts'
import { isDigits, refuse } from './refusal.ts'

const isFill = (nibble: number) => nibble === 10

/**
 * Returns the plain text PIN field of format 4: control 4, length, digits, fill A, 8 random bytes
 * (ISO 9564-1:2017 9.4.2.2.2).
 *
 * @param pin 4 to 12 digits.
 * @param random 8 bytes; random by default.
 * @returns 16 bytes, in clear.
 * @throws CryptoRefusal `pin_block_refused`, whatever is wrong.
 */
export function pinFieldFormat4(pin: string, random: Uint8Array = randomBytes(8)): Buffer {
  if (random.length !== 8) refuse('pin_block_refused')
  const field = writePinField(4, pin, Buffer.alloc(fillLength(pin), 10), isFill)
  return Buffer.concat([field, random])
}

/**
 * Reads the PIN in a plain text PIN field of format 4.
 *
 * @param field 16 bytes, in clear.
 * @throws CryptoRefusal `pin_block_refused`, whatever is wrong.
 */
export function decodePinFieldFormat4(field: Uint8Array): string {
  if (field.length !== 16) refuse('pin_block_refused')
  return readPinField(4, field.subarray(0, 8), isFill)
}

/**
 * Returns the plain text PAN field of format 4: a nibble with the number of digits beyond 12, the
 * whole PAN (with leading zeros up to 12 digits), zeros (ISO 9564-1:2017 9.4.2.2.3).
 *
 * @param pan 1 to 19 digits, check digit included.
 * @returns 16 bytes.
 * @throws CryptoRefusal `pin_block_refused` for anything else.
 */
export function panFieldFormat4(pan: string): Buffer {
  if (!isDigits(pan, 1, 19)) refuse('pin_block_refused')
  const beyond = Math.max(pan.length - 12, 0)
  return Buffer.from(`${beyond}${pan.padStart(12, '0')}`.padEnd(32, '0'), 'hex')
}
