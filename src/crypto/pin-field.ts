import { randomBytes } from 'node:crypto'
import { isDigits, isPinText, refuse } from './refusal.ts'

/**
 * The nibbles in the PIN field of formats 0 to 3, and in the first half of the field of format 4.
 */
const fieldNibbles = 16

/** Which nibbles can follow the PIN digits. */
type FillRule = (nibble: number) => boolean

/**
 * Returns the number of fill nibbles after a PIN: 14 minus its length.
 *
 * @throws CryptoRefusal `pin_block_refused` unless the PIN is 4 to 12 digits.
 */
export function fillLength(pin: string): number {
  return isPinText(pin) ? fieldNibbles - 2 - pin.length : refuse('pin_block_refused')
}

/**
 * Writes the plain text PIN field that all formats share: control nibble, length, digits, fill (ISO
 * 9564-1:2017 9.3).
 *
 * @param control the format's number, 0 to 4.
 * @param pin 4 to 12 digits.
 * @param fill one nibble per byte, 14 minus the length of the PIN.
 * @returns 8 bytes.
 * @throws CryptoRefusal `pin_block_refused` if the PIN or the fill does not match the format.
 */
export function writePinField(
  control: number,
  pin: string,
  fill: Uint8Array,
  isFill: FillRule,
): Buffer {
  if (fill.length !== fillLength(pin) || !fill.every(isFill)) refuse('pin_block_refused')
  const nibbles = [control, pin.length, ...Array.from(pin, Number), ...fill]
  return Buffer.from(nibbles.map((nibble) => nibble.toString(16)).join(''), 'hex')
}

/**
 * Reads what {@link writePinField} writes. All sixteen nibbles are checked, even if the first is
 * wrong.
 *
 * @param field 8 bytes.
 * @returns the PIN, 4 to 12 digits.
 * @throws CryptoRefusal `pin_block_refused`, whichever nibble is wrong.
 */
export function readPinField(control: number, field: Uint8Array, isFill: FillRule): string {
  const nibbles = Array.from(field).flatMap((byte) => [byte >> 4, byte & 15])
  const length = nibbles[1] ?? 0
  const faults = nibbles.filter((nibble, at) => {
    if (at === 0) return nibble !== control
    if (at === 1) return nibble < 4 || nibble > 12
    return at < 2 + length ? nibble > 9 : !isFill(nibble)
  })
  if (nibbles.length !== fieldNibbles || faults.length > 0) refuse('pin_block_refused')
  return nibbles.slice(2, 2 + length).join('')
}

/**
 * Draws fill nibbles, each equally likely.
 *
 * @param from the least nibble; the greatest is always F.
 * @returns one nibble per byte.
 */
export function drawFill(length: number, from: number): Buffer {
  const choices = fieldNibbles - from
  // The highest bytes would make the lowest nibbles more likely, so they are skipped.
  const limit = 256 - (256 % choices)
  const fill: number[] = []
  while (fill.length < length) {
    fill.push(...randomBytes(length).filter((byte) => byte < limit))
  }
  return Buffer.from(fill.slice(0, length).map((byte) => from + (byte % choices)))
}

/**
 * Encodes the PAN field of formats 0 and 3: four zero nibbles, then the 12 rightmost digits without
 * the check digit (ISO 9564-1:2017 9.3.2.3).
 *
 * @param pan 13 to 19 digits, check digit included.
 * @returns 8 bytes.
 * @throws CryptoRefusal `pin_block_refused` for anything else.
 */
export function encodePanField(pan: string): Buffer {
  if (!isDigits(pan, 13, 19)) refuse('pin_block_refused')
  return Buffer.from(`0000${pan.slice(-13, -1)}`, 'hex')
}
