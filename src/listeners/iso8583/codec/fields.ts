import { type Cursor, encodings, fail, refuseWrite, WriteFault } from './encodings.ts'
import { CodecError, type FieldLayout, type FieldType, type LengthPrefix } from './layout.ts'

/** The characters of each type; the encodings check bytes. */
const patterns: Readonly<Record<FieldType, RegExp>> = {
  n: /^[0-9]*$/,
  a: /^[A-Za-z ]*$/,
  an: /^[A-Za-z0-9 ]*$/,
  ans: /^/,
  // A credit or a debit; hosts write 0 for an amount without a sign.
  'x+n': /^[CD0][0-9]+$/,
  z: /^[0-9=D]*$/,
  b: /^/,
}

/**
 * Reads the value of a field.
 * @throws CodecError
 */
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

/** Removes the fill of a track's last byte, and normalizes its separator. */
const unfilledTrack = (track: string): string => track.toUpperCase().replace(/F+$/, '')

/**
 * Returns the end of a field that begins here, whatever its content is; null if it cannot be
 * determined. The length prefix is read.
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

/** If bytes are counted, only a fill nibble marks an odd number of digits. */
function readUnits(cursor: Cursor, layout: FieldLayout): number {
  const { encoding, max = 0, oddPad, prefix, tolerant, type } = layout
  if (!prefix) throw new Error('A field has neither a length nor a prefix.')
  const start = cursor.at
  const counted = readLength(cursor, prefix)
  const isBytes = encoding === 'bcd' && prefix.counts === 'bytes'
  const last = counted > 0 ? cursor.bytes[cursor.at + counted - 1] : 0
  const isOdd = isBytes && oddPad === 'right-f' && ((last ?? 0) & 0xf) === 0xf
  const units = isBytes ? 2 * counted - (isOdd ? 1 : 0) : counted
  // Some hosts count the fill of a track.
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

/**
 * Writes the bytes of a field with its length prefix.
 * @throws CodecError
 */
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
    // Otherwise the odd number of digits could not be detected.
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
