import { fillLength, readPinField, writePinField } from '../../src/crypto/pin-field.ts'
import { refuse } from '../../src/crypto/refusal.ts'

const isFill = (nibble: number) => nibble === 15

/**
 * Encodes a clear ISO format 2 PIN block, which goes to the chip of a card and nowhere else
 * (ISO 9564-1:2017 9.3.4, EMV Book 3 6.5.12).
 *
 * @param pin 4 to 12 digits.
 * @returns 8 bytes, in clear.
 * @throws CryptoRefusal `pin_block_refused` when it is anything else.
 */
export function encodePinBlockFormat2(pin: string): Buffer {
  return writePinField(2, pin, Buffer.alloc(fillLength(pin), 15), isFill)
}

/**
 * Decodes a clear ISO format 2 PIN block.
 *
 * @param block 8 bytes, in clear.
 * @returns the PIN, 4 to 12 digits.
 * @throws CryptoRefusal `pin_block_refused`, whatever is wrong.
 */
export function decodePinBlockFormat2(block: Uint8Array): string {
  if (block.length !== 8) refuse('pin_block_refused')
  return readPinField(2, block, isFill)
}
