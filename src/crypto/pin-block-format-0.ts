import { encodePanField, fillLength, readPinField, writePinField } from './pin-field.ts'
import { refuse, xor } from './refusal.ts'

const isFill = (nibble: number) => nibble === 15

/**
 * Encodes a clear ISO format 0 PIN block: PIN field filled with F, combined with the PAN field
 * (ISO 9564-1:2017 9.3.2).
 *
 * @param pin 4 to 12 digits.
 * @param pan 13 to 19 digits, check digit included.
 * @returns 8 bytes, in clear.
 * @throws CryptoRefusal `pin_block_refused`, whatever is wrong.
 */
export function encodePinBlockFormat0(pin: string, pan: string): Buffer {
  const field = writePinField(0, pin, Buffer.alloc(fillLength(pin), 15), isFill)
  return xor(field, encodePanField(pan))
}

/**
 * Decodes a clear ISO format 0 PIN block. With a wrong PAN it may return another PIN: only the
 * digits under the fill are checked.
 *
 * @param block 8 bytes, in clear.
 * @param pan 13 to 19 digits, check digit included.
 * @returns the PIN, 4 to 12 digits.
 * @throws CryptoRefusal `pin_block_refused`, whatever is wrong.
 */
export function decodePinBlockFormat0(block: Uint8Array, pan: string): string {
  if (block.length !== 8) refuse('pin_block_refused')
  return readPinField(0, xor(block, encodePanField(pan)), isFill)
}
