import { drawFill, fillLength, readPinField, writePinField } from './pin-field.ts'
import { refuse } from './refusal.ts'

const isFill = (nibble: number) => nibble <= 15

/**
 * Encodes a clear ISO format 1 PIN block, which is not bound to a PAN (ISO 9564-1:2017 9.3.3).
 *
 * @param pin 4 to 12 digits.
 * @param fill the transaction field or random nibbles, one per byte, 14 minus the length of the
 *   PIN; random by default.
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
 * Decodes a clear ISO format 1 PIN block; any fill is accepted.
 *
 * @param block 8 bytes, in clear.
 * @returns the PIN, 4 to 12 digits.
 * @throws CryptoRefusal `pin_block_refused`, whatever is wrong.
 */
export function decodePinBlockFormat1(block: Uint8Array): string {
  if (block.length !== 8) refuse('pin_block_refused')
  return readPinField(1, block, isFill)
}
