import { type Cursor, encodings, fail, refuseWrite, WriteFault } from './encodings.ts'
import { CodecError, type FieldLayout, type FieldType, type LengthPrefix } from './layout.ts'

/** What the values of each type consist of; bytes are seen to by their encodings. */
const patterns: Readonly<Record<FieldType, RegExp>> = {
  n: /^[0-9]*$/,
  a: /^[A-Za-z ]*$/,
  an: /^[A-Za-z0-9 ]*$/,
  ans: /^/,
  // A credit or a debit; hosts write 0 where an amount has no sign.
  'x+n': /^[CD0][0-9]+$/,
  z: /^[0-9=D]*$/,
  b: /^/,
}

/** The value of a field. @throws CodecError */
export function readField(cursor: Cursor, layout: FieldLayout): string {
  const { encoding, length, max = 0, tolerant, type } = layout
  const units = length ?? readUnits(cursor, layout)
  const start = cursor.at
  const read = encodings[encoding].read(cursor, units, layout)
  const value = tolerant && type === 'z' ? unfilledTrack(read) : read
  if (length === undefined && value.length > max && type === 'z') fail(cursor, 'too_long', start)
  if (!patterns[type].test(value)) {
    fail(cursor, type === 'n' || type === 'z' ? 'not_digits' : 'not_of_type', start)
  }
  return value
}

/** A track without what fills its last byte, its separator as its sender writes it in capitals. */
const unfilledTrack = (track: string): string => track.toUpperCase().replace(/F+$/, '')

/**
 * Where a field ends that begins here, whatever is in it; null where that cannot be told. The
 * length before it is read.
 */
export function findFieldEnd({ ...cursor }: Cursor, layout: FieldLayout): number | null {
  const { encoding, length, prefix, type } = layout
  if (encoding === 'utf-8') return null
  try {
    const counted = length ?? (prefix ? readLength(cursor, prefix) : 0)
    const sign = type === 'x+n' ? 1 : 0
    const isInBytes = length === undefined && prefix?.counts === 'bytes'
    const packed = isInBytes ? counted : sign + Math.ceil((counted - sign) / 2)
    const perUnit = encoding.startsWith('hex') ? 2 : 1
    const end = cursor.at + (encoding === 'bcd' ? packed : perUnit * counted)
    return end > cursor.bytes.length ? null : end
  } catch (error) {
    if (!(error instanceof CodecError)) throw error
    return null
  }
}

/** Where bytes are counted, a fill nibble is the only sign of an odd number of digits. */
function readUnits(cursor: Cursor, layout: FieldLayout): number {
  const { encoding, max = 0, oddPad, prefix, tolerant, type } = layout
  if (!prefix) throw new Error('A field has neither a length nor a prefix.')
  const start = cursor.at
  const counted = readLength(cursor, prefix)
  const isBytes = encoding === 'bcd' && prefix.counts === 'bytes'
  const last = counted > 0 ? cursor.bytes[cursor.at + counted - 1] : 0
  const isOdd = isBytes && oddPad === 'right-f' && ((last ?? 0) & 0xf) === 0xf
  const units = isBytes ? 2 * counted - (isOdd ? 1 : 0) : counted
  // Some count what a track is filled with.
  const most = tolerant && type === 'z' ? max + 1 : max
  return units > most ? fail(cursor, 'too_long', start) : units
}

function readLength(cursor: Cursor, { digits, encoding }: LengthPrefix): number {
  if (encoding === 'binary')
    return Number.parseInt(encodings.binary.read(cursor, digits, { type: 'b' }), 16)
  const start = cursor.at
  const text = encodings[encoding].read(cursor, digits, { type: 'n', oddPad: 'left-0' })
  return /^[0-9]+$/.test(text) ? Number(text) : fail(cursor, 'not_digits', start)
}

/** The bytes of a field with its length before it. @throws CodecError */
export function writeField(name: string, layout: FieldLayout, value: string): Uint8Array {
  const { encoding, length, max = 0, oddPad, prefix, type } = layout
  const characters = encoding === 'utf-8' ? [...value].length : value.length
  const units = type === 'b' ? value.length / 2 : characters
  try {
    if (!patterns[type].test(value)) refuseWrite('not_of_type')
    if (length !== undefined && units !== length) refuseWrite('wrong_length')
    const bytes = encodings[encoding].write(value, layout)
    if (!prefix) return bytes
    if (units > max) refuseWrite('too_long')
    const isInBytes = encoding === 'bcd' && prefix.counts === 'bytes'
    // Nothing else would say that the number of digits is odd.
    if (isInBytes && units % 2 === 1 && oddPad !== 'right-f') refuseWrite('wrong_padding')
    return Buffer.concat([writeLength(prefix, isInBytes ? bytes.length : units), bytes])
  } catch (error) {
    throw error instanceof WriteFault ? new CodecError(error.fault, name, null) : error
  }
}

function writeLength({ digits, encoding }: LengthPrefix, count: number): Uint8Array {
  const isBinary = encoding === 'binary'
  const text = isBinary
    ? count
        .toString(16)
        .toUpperCase()
        .padStart(2 * digits, '0')
    : String(count).padStart(digits, '0')
  if (text.length > (isBinary ? 2 * digits : digits)) refuseWrite('too_long')
  return encodings[encoding].write(text, { type: isBinary ? 'b' : 'n', oddPad: 'left-0' })
}
