import { isInBitmap, readMessageBitmap, writeMessageBitmap } from './bitmap.ts'
import { type Cursor, fail, take } from './encodings.ts'
import { readField, writeField } from './fields.ts'
import { CodecError, type IsoMessage, type Layout } from './layout.ts'
import { refuseWrongParts } from './parts.ts'

/**
 * Reads a message, strictly: nothing is padded, repaired or left over.
 * @throws CodecError, and nothing else whatever the bytes are.
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
    const value = readField(cursor, field)
    if (field.parts) refuseWrongParts(cursor.field, field, value, cursor.at)
    fields[number] = value
  }
  if (cursor.at < bytes.length) fail({ ...cursor, field: 'end' }, 'bytes_left')
  return {
    ...(header && { header: Buffer.from(header).toString('hex').toUpperCase() }),
    mti,
    fields,
  }
}

/** The bytes of a message. @throws CodecError where a value does not fit its field. */
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

/** The numbers of a message's fields, in their order on the wire. */
export const fieldNumbers = (fields: IsoMessage['fields']): readonly number[] =>
  Object.keys(fields)
    .map(Number)
    .sort((left, right) => left - right)

/** How many bytes of an encoded message its last field takes, which is the MAC where there is one. */
export const lastFieldLength = (layout: Layout, { fields }: IsoMessage): number => {
  const last = String(fieldNumbers(fields).at(-1))
  const field = layout.fields[last]
  return field ? writeField(last, field, fields[last] ?? '').length : 0
}

const mtiLayout = ({ mti }: Layout) => ({ type: 'n', encoding: mti, length: 4 }) as const
