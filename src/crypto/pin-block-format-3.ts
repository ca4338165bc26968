import { drawFill, encodePanField, fillLength, readPinField, writePinField } from './pin-field.ts'
import { refuse, xor } from './refusal.ts'

const isFill = (nibble: number) => nibble >= 10

/**
 * Returns the plain text PIN field of format 3: control 3, length, digits, fill A to F (ISO
 * 9564-1:2017 9.3.5).
 *
 * @param pin 4 to 12 digits.
 * @param fill one nibble per byte, 10 to 15, 14 minus the length of the PIN; random by default.
 * @returns 8 bytes, in clear.
 * @throws CryptoRefusal `pin_block_refused`, whatever is wrong.
 */
export function pinFieldFormat3(
  pin: string,
  fill: Uint8Array = drawFill(fillLength(pin), 10),
): Buffer {
  return writePinField(3, pin, fill, isFill)
}

/**
 * Encodes a clear ISO format 3 PIN block: format 0 with random fill (ISO 9564-1:2017 9.3.5).
 *
 * @param pin 4 to 12 digits.
 * @param pan 13 to 19 digits, check digit included.
 * @param fill as for {@link pinFieldFormat3}.
 * @returns 8 bytes, in clear.
 * @throws CryptoRefusal `pin_block_refused`, whatever is wrong.
 */
export function encodePinBlockFormat3(pin: string, pan: string, fill?: Uint8Array): Buffer {
  return xor(pinFieldFormat3(pin, fill), encodePanField(pan))
}

/**
 * Decodes a clear ISO format 3 PIN block. With a wrong PAN it may return another PIN.
 *
 * @param block 8 bytes, in clear.
 * @param pan 13 to 19 digits, check digit included.
 * @returns the PIN, 4 to 12 digits.
 * @throws CryptoRefusal `pin_block_refused`, whatever is wrong.
 */
export function decodePinBlockFormat3(block: Uint8Array, pan: string): string {
  if (block.length !== 8) refuse('pin_block_refused')
  return readPinField(3, xor(block, encodePanField(pan)), isFill)
}
