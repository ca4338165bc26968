import { decipherPinBlockFormat0, encipherPinBlockFormat0 } from './pin-block-format-0.ts'
import { decipherPinBlockFormat1, encipherPinBlockFormat1 } from './pin-block-format-1.ts'
import { decipherPinBlockFormat3, encipherPinBlockFormat3 } from './pin-block-format-3.ts'
import { decipherPinBlockFormat4, encipherPinBlockFormat4 } from './pin-block-format-4.ts'

/** The ISO 9564-1 formats that travel between zones; format 2 goes to a chip only. */
export type PinBlockFormat = 0 | 1 | 3 | 4

/** What a PIN block is made under. */
export type PinBlockContext = {
  readonly format: PinBlockFormat
  /** 13 to 19 digits for formats 0 and 3, 1 to 19 for format 4; format 1 does not look at it. */
  readonly pan: string
  /** TDES of 8, 16 or 24 bytes for formats 0, 1 and 3; AES of 16, 24 or 32 bytes for format 4. */
  readonly key: Uint8Array
}

type Encipher = (pin: string, context: PinBlockContext, random?: Uint8Array) => Buffer
type Decipher = (block: Uint8Array, context: PinBlockContext) => string

const enciphers: Record<PinBlockFormat, Encipher> = {
  0: (pin, { pan, key }) => encipherPinBlockFormat0(pin, pan, key),
  1: (pin, { key }, fill) => encipherPinBlockFormat1(pin, key, fill),
  3: (pin, { pan, key }, fill) => encipherPinBlockFormat3(pin, pan, key, fill),
  4: (pin, { pan, key }, random) => encipherPinBlockFormat4(pin, pan, key, random),
}

const deciphers: Record<PinBlockFormat, Decipher> = {
  0: (block, { pan, key }) => decipherPinBlockFormat0(block, pan, key),
  1: (block, { key }) => decipherPinBlockFormat1(block, key),
  3: (block, { pan, key }) => decipherPinBlockFormat3(block, pan, key),
  4: (block, { pan, key }) => decipherPinBlockFormat4(block, pan, key),
}

/**
 * Enciphers a PIN as a block of any format (ISO 9564-1:2017 9).
 *
 * @param pin 4 to 12 digits.
 * @param random fill nibbles for formats 1 and 3, 8 bytes for format 4; drawn unless given.
 * @returns 8 bytes, or 16 for format 4.
 * @throws CryptoRefusal `pin_block_refused`, whatever is wrong.
 */
export function encipherPinBlock(
  pin: string,
  context: PinBlockContext,
  random?: Uint8Array,
): Buffer {
  return enciphers[context.format](pin, context, random)
}

/**
 * Deciphers a block of any format.
 *
 * @param block 8 bytes, or 16 for format 4.
 * @returns the PIN, 4 to 12 digits.
 * @throws CryptoRefusal `pin_block_refused`, whatever is wrong.
 */
export function decipherPinBlock(block: Uint8Array, context: PinBlockContext): string {
  return deciphers[context.format](block, context)
}
