import { readBits, writeBits } from './bitmap.ts'
import { type Cursor, encodings, fail, take } from './encodings.ts'
import { readField, writeField } from './fields.ts'
import { CodecError, type FieldLayout, type PartsLayout } from './layout.ts'

/** The parts of a value by tag or number, in order. */
type Parts = ReadonlyMap<string, string>

/**
 * Reads the parts of a value. A tag is bytes of the message and, after a wrong length, may be part
 * of a CVV2 or PAN: an error names the field with the parts, and a part only by its place in the
 * layout.
 * @throws CodecError
 */
export function readParts(name: string, { parts, type }: FieldLayout, value: string): Parts {
  if (!parts) return new Map()
  const bytes = type === 'b' ? Buffer.from(value, 'hex') : Buffer.from(value, 'latin1')
  const cursor: Cursor = { bytes, at: 0, field: name }
  return readByKind(cursor, name, parts)
}

/**
 * Writes a value with parts.
 * @throws CodecError
 */
export function writeParts(name: string, { parts, type }: FieldLayout, given: Parts): string {
  if (!parts) throw new CodecError('wrong_parts', name, null)
  const bytes = Buffer.concat(writeByKind(name, given, parts))
  return type === 'b' ? bytes.toString('hex').toUpperCase() : bytes.toString('latin1')
}

/**
 * Reads the parts of a text that may have none: those at its beginning with a tag and a length, as
 * far as they fit. Also returns whether they are the whole text, without duplicates.
 */
export function readOptionalParts(
  { header = 0, lengthDigits, tagLength }: Extract<PartsLayout, { kind: 'tlv' }>,
  value: string,
): { readonly parts: Parts; readonly isWhole: boolean } {
  const parts = new Map<string, string>()
  let isWhole = value.length >= header
  for (let at = header; at < value.length; ) {
    const tag = value.slice(at, at + tagLength)
    const digits = value.slice(at + tagLength, at + tagLength + lengthDigits)
    const start = at + tagLength + lengthDigits
    const end = /^[0-9]+$/.test(digits) ? start + Number(digits) : Number.POSITIVE_INFINITY
    if (digits.length < lengthDigits || end > value.length) return { parts, isWhole: false }
    if (parts.has(tag)) isWhole = false
    parts.set(tag, value.slice(start, end))
    at = end
  }
  return { parts, isWhole }
}

/**
 * Reads one part of a value that may have no parts, or others than the layout knows.
 * @returns undefined where the part is absent or cannot be read.
 */
export function findOptionalPart(
  name: string,
  { parts, type }: FieldLayout,
  part: string,
  value: string,
): string | undefined {
  if (parts?.kind === 'tlv') return readOptionalParts(parts, value).parts.get(part)
  const bytes = type === 'b' ? Buffer.from(value, 'hex') : Buffer.from(value, 'latin1')
  const cursor: Cursor = { bytes, at: 0, field: name }
  const found = new Map<string, string>()
  try {
    // The part may come before one that the layout does not have.
    if (parts?.kind === 'bitmap') readSubfields(cursor, name, parts, found)
    else if (parts) return readByKind(cursor, name, parts).get(part)
  } catch (error) {
    if (!(error instanceof CodecError)) throw error
  }
  return found.get(part)
}

/**
 * Rejects a value with unreadable parts.
 * @param end the end of the field in its message.
 * @throws CodecError with the offset in the message.
 */
export function refuseWrongParts(
  name: string,
  layout: FieldLayout,
  value: string,
  end: number,
): void {
  if (layout.parts && 'optional' in layout.parts && layout.parts.optional) return
  try {
    readParts(name, layout, value)
  } catch (error) {
    if (!(error instanceof CodecError)) throw error
    const perByte = layout.encoding.startsWith('hex') ? 2 : 1
    const length = layout.type === 'b' ? value.length / 2 : value.length
    const offset = end + perByte * ((error.offset ?? 0) - length)
    throw new CodecError(error.fault, error.field, offset)
  }
}

function readByKind(cursor: Cursor, name: string, layout: PartsLayout): Parts {
  switch (layout.kind) {
    case 'bitmap':
      return readers.bitmap(cursor, name, layout)
    case 'tlv':
      return readers.tlv(cursor, name, layout)
    case 'row':
      return readers.row(cursor, name, layout)
    case 'ber-tlv':
      return readers['ber-tlv'](cursor, name, layout)
  }
}

function writeByKind(name: string, given: Parts, layout: PartsLayout): Uint8Array[] {
  switch (layout.kind) {
    case 'bitmap':
      return writers.bitmap(name, given, layout)
    case 'tlv':
      return writers.tlv(name, given, layout)
    case 'row':
      return writers.row(name, given, layout)
    case 'ber-tlv':
      return writers['ber-tlv'](name, given, layout)
  }
}

type Kind = PartsLayout['kind']
type Of<K extends Kind> = Extract<PartsLayout, { kind: K }>

const readers: { [K in Kind]: (cursor: Cursor, name: string, layout: Of<K>) => Parts } = {
  bitmap(cursor, name, layout) {
    const parts = new Map<string, string>()
    readSubfields(cursor, name, layout, parts)
    return whole(cursor, name, parts)
  },
  tlv(cursor, _, { header = 0, lengthDigits, tagLength }) {
    const parts = new Map<string, string>()
    if (header > 0) parts.set('header', takeText(cursor, header))
    while (cursor.at < cursor.bytes.length) {
      const tag = takeText(cursor, tagLength)
      const digits = takeText(cursor, lengthDigits)
      if (!/^[0-9]+$/.test(digits)) fail(cursor, 'not_digits')
      add(cursor, parts, tag, takeText(cursor, Number(digits)))
    }
    return parts
  },
  row(cursor, name, { lengths }) {
    const parts = new Map<string, string>()
    for (const [part, length] of Object.entries(lengths)) {
      if (cursor.at === cursor.bytes.length) break
      cursor.field = `${name}.${part}`
      parts.set(part, takeText(cursor, length))
    }
    return whole(cursor, name, parts)
  },
  'ber-tlv'(cursor) {
    const parts = new Map<string, string>()
    while (cursor.at < cursor.bytes.length) {
      // Zero bytes are allowed in between (EMV book 3, annex B.1).
      if (cursor.bytes[cursor.at] === 0) {
        cursor.at += 1
        continue
      }
      const tag = readTag(cursor)
      const start = cursor.at
      const [first = 0] = take(cursor, 1)
      // The indefinite form, and lengths beyond a message, are rejected.
      if (first === 0x80 || first > 0x82) fail(cursor, 'wrong_parts', start)
      const lengthBytes = first < 0x80 ? Uint8Array.of(first) : take(cursor, first & 0x7f)
      const length = lengthBytes.reduce((sum, byte) => sum * 256 + byte, 0)
      const content = encodings.binary.read(cursor, length, { type: 'b' })
      add(cursor, parts, tag, content)
    }
    return parts
  },
}

/** Adds the subfields after a bitmap to the parts, one after the other. @throws CodecError */
function readSubfields(
  cursor: Cursor,
  name: string,
  { bits, encoding, fields, header = 0 }: Of<'bitmap'>,
  parts: Map<string, string>,
): void {
  if (header > 0) parts.set('header', encodings.binary.read(cursor, header, { type: 'b' }))
  for (const number of readBits(cursor, { encoding }, bits / 8)) {
    const field = fields[number]
    // Bits that the layout does not have may be bytes of something else.
    cursor.field = field ? `${name}.${number}` : name
    parts.set(String(number), field ? readField(cursor, field) : fail(cursor, 'unknown_field'))
  }
}

const takeText = (cursor: Cursor, length: number): string =>
  Buffer.from(take(cursor, length)).toString('latin1')

function add(cursor: Cursor, parts: Map<string, string>, tag: string, value: string): void {
  if (parts.has(tag)) fail(cursor, 'wrong_parts')
  parts.set(tag, value)
}

const whole = (cursor: Cursor, field: string, parts: Parts): Parts =>
  cursor.at < cursor.bytes.length ? fail({ ...cursor, field }, 'wrong_parts') : parts

/** Reads a tag of one to four bytes; EMV tags have at most three. */
function readTag(cursor: Cursor): string {
  const start = cursor.at
  let [byte = 0] = take(cursor, 1)
  if ((byte & 0x1f) === 0x1f) {
    do {
      if (cursor.at - start === 4) fail(cursor, 'wrong_parts', start)
      ;[byte = 0] = take(cursor, 1)
    } while (byte & 0x80)
  }
  return Buffer.from(cursor.bytes.subarray(start, cursor.at)).toString('hex').toUpperCase()
}

const writers: {
  [K in Kind]: (name: string, parts: Parts, layout: Of<K>) => Uint8Array[]
} = {
  bitmap(name, parts, { bits, encoding, fields, header = 0 }) {
    const numbers = [...parts.keys()]
      .filter((part) => part !== 'header')
      .map(Number)
      .sort((left, right) => left - right)
    const values = numbers.map((number) => {
      const field = fields[number]
      if (!field || number > bits) throw new CodecError('unknown_field', `${name}.${number}`, null)
      return writeField(`${name}.${number}`, field, parts.get(String(number)) ?? '')
    })
    const before = { type: 'b', encoding: 'binary', length: header } as const
    const headerBytes = writeField(`${name}.header`, before, parts.get('header') ?? '')
    return [headerBytes, writeBits(encoding, bits / 8, numbers), ...values]
  },
  tlv(name, parts, { header = 0, lengthDigits, tagLength }) {
    return [...parts].flatMap(([tag, value]) => {
      if (tag === 'header') return [fixedText(`${name}.header`, header, value)]
      const prefix = { digits: lengthDigits, encoding: 'ascii' } as const
      const layout = {
        type: 'ans',
        encoding: 'ascii',
        max: 10 ** lengthDigits - 1,
        prefix,
      } as const
      return [fixedText(`${name}.tag`, tagLength, tag), writeField(name, layout, value)]
    })
  },
  row(name, parts, { lengths }) {
    return Object.entries(lengths).flatMap(([part, length]) => {
      const value = parts.get(part)
      return value === undefined ? [] : [fixedText(`${name}.${part}`, length, value)]
    })
  },
  'ber-tlv': (name, parts) =>
    [...parts].map(([tag, value]) => {
      const bytes = { type: 'b', encoding: 'binary' } as const
      const length = value.length / 2
      const lengthBytes = length < 0x80 ? '' : length < 0x100 ? '81' : '82'
      const digits = lengthBytes === '82' ? 4 : 2
      const hex = length.toString(16).toUpperCase().padStart(digits, '0')
      const tlv = tag + lengthBytes + hex + value
      return writeField(name, { ...bytes, length: tlv.length / 2 }, tlv)
    }),
}

const fixedText = (name: string, length: number, value: string): Uint8Array =>
  writeField(name, { type: 'ans', encoding: 'ascii', length }, value)
