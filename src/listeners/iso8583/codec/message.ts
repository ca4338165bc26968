import { isInBitmap, readMessageBitmap, writeMessageBitmap } from './bitmap.ts'
import { isChipData, readChipData } from './chip-data.ts'
import { type Cursor, fail, take } from './encodings.ts'
import { findFieldEnd, readField, writeField } from './fields.ts'
import { CodecError, type FieldLayout, type IsoMessage, type Layout } from './layout.ts'
import { refuseWrongParts } from './parts.ts'

/**
 * Reads a message strictly: no padding, no repair, no trailing bytes.
 * @throws CodecError, and no other error for any bytes.
 */
export function decode(layout: Layout, bytes: Uint8Array): IsoMessage {
  const cursor: Cursor = { bytes, at: 0, field: 'header' }
  const header = layout.header === undefined ? null : take(cursor, layout.header)
  cursor.field = 'mti'
  const mti = readField(cursor, mtiLayout(layout))
  cursor.field = 'bitmap'
  const fields: Record<string, string> = {}
  for (const number of readMessageBitmap(cursor, layout.bitmap)) {
    cursor.field = String(number)
    const field = layout.fields[number]
    if (!field) return fail(cursor, 'unknown_field')
    fields[number] = readWhole(cursor, field)
  }
  if (cursor.at < bytes.length) fail({ ...cursor, field: 'end' }, 'bytes_left')
  return composeMessage(header, mti, fields)
}

/**
 * Reads the value of a field with valid parts.
 * @throws CodecError
 */
function readWhole(cursor: Cursor, field: FieldLayout): string {
  // Chip data that are no list of tags are an answer about the chip, not about the message.
  if (isChipData(field)) return readChipData(cursor, field)
  const value = readField(cursor, field)
  if (field.parts) refuseWrongParts(cursor.field, field, value, cursor.at)
  return value
}

/**
 * Reads the valid part of an incomplete or faulty message: its type, and the fields with valid
 * values, as far as their ends can be determined. Null if its type or its bitmap is unreadable.
 */
export function decodeReadable(layout: Layout, bytes: Uint8Array): IsoMessage | null {
  const cursor: Cursor = { bytes, at: 0, field: 'header' }
  const begun = orNull(() => {
    const header = layout.header === undefined ? null : take(cursor, layout.header)
    const mti = readField(cursor, mtiLayout(layout))
    return { header, mti, numbers: readMessageBitmap(cursor, layout.bitmap) }
  })
  if (!begun) return null
  const { header, mti, numbers } = begun
  const fields: Record<string, string> = {}
  for (const number of numbers) {
    cursor.field = String(number)
    const field = layout.fields[number]
    const end = field ? findFieldEnd(cursor, field) : null
    if (!field || end === null) break
    const value = orNull(() => readField(cursor, field))
    if (value !== null) fields[number] = value
    cursor.at = end
  }
  return composeMessage(header, mti, fields)
}

function orNull<Value>(read: () => Value): Value | null {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof CodecError)) throw error
    return null
  }
}

const composeMessage = (
  header: Uint8Array | null,
  mti: string,
  fields: Readonly<Record<string, string>>,
): IsoMessage => ({
  ...(header && { header: Buffer.from(header).toString('hex').toUpperCase() }),
  mti,
  fields,
})

/**
 * Writes the bytes of a message.
 * @throws CodecError if a value does not fit its field.
 */
export function encode(layout: Layout, { fields, header = '', mti }: IsoMessage): Buffer {
  if (header.length !== 2 * (layout.header ?? 0))
    throw new CodecError('wrong_length', 'header', null)
  const numbers = fieldNumbers(fields)
  const values = numbers.map((number) => {
    const field = layout.fields[number]
    if (!field || !isInBitmap(layout.bitmap, number)) {
      throw new CodecError('unknown_field', String(number), null)
    }
    return writeField(String(number), field, fields[number] ?? '')
  })
  return Buffer.concat([
    writeField('header', { type: 'b', encoding: 'binary', length: header.length / 2 }, header),
    writeField('mti', mtiLayout(layout), mti),
    writeMessageBitmap(layout.bitmap, numbers),
    ...values,
  ])
}

/** Lists the numbers of a message's fields, in their order on the wire. */
export const fieldNumbers = (fields: IsoMessage['fields']): readonly number[] =>
  Object.keys(fields)
    .map(Number)
    .sort((left, right) => left - right)

/** Returns the byte length of the last field of an encoded message: its MAC, if it has one. */
export const lastFieldLength = (layout: Layout, { fields }: IsoMessage): number => {
  const last = String(fieldNumbers(fields).at(-1))
  const field = layout.fields[last]
  return field ? writeField(last, field, fields[last] ?? '').length : 0
}

const mtiLayout = ({ mti }: Layout) => ({ type: 'n', encoding: mti, length: 4 }) as const
