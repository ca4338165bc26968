import { drawFill, fillLength, readPinField, writePinField } from './pin-field.ts'
import { orRefuse, refuse } from './refusal.ts'
import { decipherTdesEcb, encipherTdesEcb } from './tdes.ts'

const isFill = (nibble: number) => nibble <= 15

/**
 * Encodes a clear ISO format 1 PIN block, which is bound to no PAN (ISO 9564-1:2017 9.3.3).
 *
 * @param pin 4 to 12 digits.
 * @param fill the transaction field or random nibbles, one a byte, 14 less the PIN's length of
 *   them; drawn unless given.
 * @returns 8 bytes, in clear.
 * @throws CryptoRefusal `pin_block_refused`, whatever is wrong.
 */
export function encodePinBlockFormat1(
  pin: string,
  fill: Uint8Array = drawFill(fillLength(pin), 0),
): Buffer {
  return writePinField(1, pin, fill, isFill)
}

/**
 * Decodes a clear ISO format 1 PIN block; any fill is taken.
 *
 * @param block 8 bytes, in clear.
 * @returns the PIN, 4 to 12 digits.
 * @throws CryptoRefusal `pin_block_refused`, whatever is wrong.
 */
export function decodePinBlockFormat1(block: Uint8Array): string {
  if (block.length !== 8) refuse('pin_block_refused')
  return readPinField(1, block, isFill)
}

/**
 * Encodes a PIN in format 1 and enciphers the block.
 *
 * @param key TDES PIN encryption key: 8, 16 or 24 bytes.
 * @returns 8 bytes.
 * @throws CryptoRefusal `pin_block_refused`, whatever is wrong.
 */
export function encipherPinBlockFormat1(pin: string, key: Uint8Array, fill?: Uint8Array): Buffer {
  const block = encodePinBlockFormat1(pin, fill)
  return orRefuse('pin_block_refused', () => encipherTdesEcb(key, block))
}

/**
 * Deciphers a format 1 block and decodes it.
 *
 * @param block 8 bytes.
 * @param key TDES PIN encryption key: 8, 16 or 24 bytes.
 * @throws CryptoRefusal `pin_block_refused`, whatever is wrong.
 */
export function decipherPinBlockFormat1(block: Uint8Array, key: Uint8Array): string {
  return decodePinBlockFormat1(orRefuse('pin_block_refused', () => decipherTdesEcb(key, block)))
}
