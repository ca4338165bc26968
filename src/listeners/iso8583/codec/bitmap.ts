import { type Cursor, encodings, fail } from './encodings.ts'
import type { BitmapLayout } from './layout.ts'

/** Bits 1 and 65 state that a bitmap follows; they are not fields. */
export const isInBitmap = ({ indicator }: BitmapLayout, number: number): boolean =>
  number >= 2 && number <= 128 && (number !== 65 || indicator === false)

/**
 * Reads the numbers of a message's fields.
 * @throws CodecError
 */
export function readMessageBitmap(cursor: Cursor, layout: BitmapLayout): readonly number[] {
  const start = cursor.at
  const first = readBits(cursor, layout, 8)
  const isSecond = layout.size === 'always-16'
  const hasIndicator = first.includes(1)
  if (isSecond && hasIndicator !== (layout.indicator !== false)) fail(cursor, 'wrong_bitmap', start)
  const second = isSecond || hasIndicator ? readBits(cursor, layout, 8) : []
  // Rejected, because a message must have a single encoding.
  const isEmpty = hasIndicator && !isSecond && second.length === 0
  const numbers = [...first.filter((bit) => bit > 1), ...second.map((bit) => bit + 64)]
  if (isEmpty || !numbers.every((number) => isInBitmap(layout, number))) {
    fail(cursor, 'wrong_bitmap', start)
  }
  return numbers
}

export function writeMessageBitmap(layout: BitmapLayout, numbers: readonly number[]): Uint8Array {
  const isLong = layout.size === 'always-16' || numbers.some((number) => number > 64)
  const isSaid = isLong && layout.indicator !== false
  return writeBits(layout.encoding, isLong ? 16 : 8, isSaid ? [1, ...numbers] : numbers)
}

type BitsEncoding = BitmapLayout['encoding']

/** Returns the numbers of the set bits, counted from 1. */
export function readBits(
  cursor: Cursor,
  { encoding, tolerant }: Pick<BitmapLayout, 'encoding' | 'tolerant'>,
  length: number,
): number[] {
  const digits = encodings[encoding].read(cursor, length, {
    type: 'b',
    ...(tolerant && { tolerant }),
  })
  const bytes = Buffer.from(digits, 'hex')
  const bits: number[] = []
  for (let bit = 0; bit < 8 * length; bit += 1) {
    if ((bytes[bit >> 3] ?? 0) & (0x80 >> (bit & 7))) bits.push(bit + 1)
  }
  return bits
}

export function writeBits(
  encoding: BitsEncoding,
  length: number,
  bits: readonly number[],
): Uint8Array {
  const bytes = Buffer.alloc(length)
  for (const bit of bits)
    bytes[(bit - 1) >> 3] = (bytes[(bit - 1) >> 3] ?? 0) | (0x80 >> ((bit - 1) & 7))
  return encodings[encoding].write(bytes.toString('hex').toUpperCase(), { type: 'b' })
}
