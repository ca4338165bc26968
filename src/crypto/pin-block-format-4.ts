import { randomBytes } from 'node:crypto'
import { decipherAesEcb, encipherAesEcb } from './aes.ts'
import { fillLength, readPinField, writePinField } from './pin-field.ts'
import { isDigits, orRefuse, refuse, xor } from './refusal.ts'

const isFill = (nibble: number) => nibble === 10

/**
 * The plain text PIN field of format 4: control 4, length, digits, fill A, 8 random bytes
 * (ISO 9564-1:2017 9.4.2.2.2).
 *
 * @param pin 4 to 12 digits.
 * @param random 8 bytes, drawn unless given.
 * @returns 16 bytes, in clear.
 * @throws CryptoRefusal `pin_block_refused`, whatever is wrong.
 */
export function pinFieldFormat4(pin: string, random: Uint8Array = randomBytes(8)): Buffer {
  if (random.length !== 8) refuse('pin_block_refused')
  const field = writePinField(4, pin, Buffer.alloc(fillLength(pin), 10), isFill)
  return Buffer.concat([field, random])
}

/**
 * Reads the PIN out of a plain text PIN field of format 4.
 *
 * @param field 16 bytes, in clear.
 * @throws CryptoRefusal `pin_block_refused`, whatever is wrong.
 */
export function decodePinFieldFormat4(field: Uint8Array): string {
  if (field.length !== 16) refuse('pin_block_refused')
  return readPinField(4, field.subarray(0, 8), isFill)
}

/**
 * The plain text PAN field of format 4: a nibble that says how many digits there are beyond 12, the
 * whole PAN (with zeros before it up to 12 digits), zeros (ISO 9564-1:2017 9.4.2.2.3).
 *
 * @param pan 1 to 19 digits, check digit included.
 * @returns 16 bytes.
 * @throws CryptoRefusal `pin_block_refused` when it is anything else.
 */
export function panFieldFormat4(pan: string): Buffer {
  if (!isDigits(pan, 1, 19)) refuse('pin_block_refused')
  const beyond = Math.max(pan.length - 12, 0)
  return Buffer.from(`${beyond}${pan.padStart(12, '0')}`.padEnd(32, '0'), 'hex')
}

/**
 * Enciphers a PIN as an ISO format 4 block: AES of the PIN field, combined with the PAN field, AES
 * again (ISO 9564-1:2017 9.4.2.3).
 *
 * @param pin 4 to 12 digits.
 * @param pan 1 to 19 digits, check digit included.
 * @param key AES PIN encryption key: 16, 24 or 32 bytes.
 * @param random 8 bytes, drawn unless given.
 * @returns 16 bytes.
 * @throws CryptoRefusal `pin_block_refused`, whatever is wrong.
 */
export function encipherPinBlockFormat4(
  pin: string,
  pan: string,
  key: Uint8Array,
  random: Uint8Array = randomBytes(8),
): Buffer {
  return orRefuse('pin_block_refused', () => {
    const intermediate = encipherAesEcb(key, pinFieldFormat4(pin, random))
    return encipherAesEcb(key, xor(intermediate, panFieldFormat4(pan)))
  })
}

/**
 * Deciphers an ISO format 4 block. A wrong PAN or key leaves a PIN field that is refused but for
 * about one case in 2^24, when it reads as another PIN, nearly always one of 12 digits.
 *
 * @param block 16 bytes.
 * @param pan 1 to 19 digits, check digit included.
 * @param key AES PIN encryption key: 16, 24 or 32 bytes.
 * @returns the PIN, 4 to 12 digits.
 * @throws CryptoRefusal `pin_block_refused`, whatever is wrong.
 */
export function decipherPinBlockFormat4(block: Uint8Array, pan: string, key: Uint8Array): string {
  return orRefuse('pin_block_refused', () => {
    const intermediate = xor(decipherAesEcb(key, block), panFieldFormat4(pan))
    return decodePinFieldFormat4(decipherAesEcb(key, intermediate))
  })
}
