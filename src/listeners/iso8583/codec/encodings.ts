import { CodecError, type CodecFault, type FieldLayout, type ValueEncoding } from './layout.ts'

/** The position of a reader in bytes, with the field that it reads. */
export interface Cursor {
  readonly bytes: Uint8Array
  at: number
  /** The field named in errors. */
  field: string
}

/** @throws CodecError of the present field. */
export function fail(cursor: Cursor, fault: CodecFault, at = cursor.at): never {
  throw new CodecError(fault, cursor.field, at)
}

/**
 * Reads the next bytes.
 * @throws CodecError `too_short`.
 */
export function take(cursor: Cursor, count: number): Uint8Array {
  const end = cursor.at + count
  if (end > cursor.bytes.length) fail(cursor, 'too_short')
  const taken = cursor.bytes.subarray(cursor.at, end)
  cursor.at = end
  return taken
}

/** Reads and writes values of one encoding. Units are digits, bytes or characters. */
interface Encoding {
  read(cursor: Cursor, units: number, layout: EncodedLayout): string
  /** @throws WriteFault without the field, which the caller adds. */
  write(value: string, layout: EncodedLayout): Uint8Array
}

type EncodedLayout = Pick<FieldLayout, 'type' | 'oddPad' | 'prefix' | 'tolerant'>

/** IBM code page 1047 of mainframes: the Latin-1 characters of its bytes. */
const latin1ByEbcdic = Buffer.from(
  '000102039C09867F978D8E0B0C0D0E0F101112139D8508871819928F1C1D1E1F80818283840A171B88898A8B8C050607' +
    '909116939495960498999A9B14159E1A20A0E2E4E0E1E3E5E7F1A22E3C282B7C26E9EAEBE8EDEEEFECDF21242A293B5E' +
    '2D2FC2C4C0C1C3C5C7D1A62C255F3E3FF8C9CACBC8CDCECFCC603A2340273D22D8616263646566676869ABBBF0FDFEB1' +
    'B06A6B6C6D6E6F707172AABAE6B8C6A4B57E737475767778797AA1BFD05BDEAEACA3A5B7A9A7B6BCBDBEDDA8AF5DB4D7' +
    '7B414243444546474849ADF4F6F2F3F57D4A4B4C4D4E4F505152B9FBFCF9FAFF5CF7535455565758595AB2D4D6D2D3D5' +
    '30313233343536373839B3DBDCD9DA9F',
  'hex',
)
const ebcdicByLatin1 = new Map([...latin1ByEbcdic].map((character, byte) => [character, byte]))

/** A fault of a written value; the writer of the field names it. */
export class WriteFault extends Error {
  readonly fault: CodecFault

  constructor(fault: CodecFault) {
    super(fault)
    this.fault = fault
  }
}

export function refuseWrite(fault: CodecFault): never {
  throw new WriteFault(fault)
}

const printable = /^[\x20-\x7e]*$/
const printableLatin1 = /^[\x20-\x7e\x80-\xff]*$/
const anyByte = /^[\p{Cc}\x20-\xff]*$/u

/** Returns the allowed characters of a text. With a length prefix, the text may contain any. */
function allowedCharacters({ prefix, tolerant, type }: EncodedLayout): RegExp {
  if (!tolerant || type !== 'ans') return printable
  return prefix ? anyByte : printableLatin1
}

/**
 * Decodes Latin-1 characters.
 * @throws CodecError of the first character that is not allowed.
 */
function decodeText(
  cursor: Cursor,
  start: number,
  characters: Buffer,
  layout: EncodedLayout,
): string {
  const text = characters.toString('latin1')
  const allowed = allowedCharacters(layout)
  if (allowed.test(text)) return text
  const wrong = Array.from(text).findIndex((character) => !allowed.test(character))
  return fail(cursor, 'not_of_encoding', start + wrong)
}

function charactersIn(value: string, layout: EncodedLayout): Buffer {
  const isAllowed = allowedCharacters(layout).test(value)
  return isAllowed ? Buffer.from(value, 'latin1') : refuseWrite('not_of_encoding')
}

const ascii: Encoding = {
  read(cursor, units, layout) {
    const start = cursor.at
    return decodeText(cursor, start, Buffer.from(take(cursor, units)), layout)
  },
  write: charactersIn,
}

const ebcdic: Encoding = {
  read(cursor, units, layout) {
    const start = cursor.at
    const characters = take(cursor, units).map((byte) => latin1ByEbcdic[byte] ?? 0)
    return decodeText(cursor, start, Buffer.from(characters), layout)
  },
  write: (value, layout) =>
    charactersIn(value, layout).map((character) => ebcdicByLatin1.get(character) ?? 0),
}

/** The first bytes of characters of two, three and four bytes. */
const longerUtf8 = [0x80, 0xe0, 0xf0] as const

const utf8: Encoding = {
  read(cursor, units) {
    const start = cursor.at
    for (let unit = 0; unit < units; unit += 1) {
      const [first = 0] = take(cursor, 1)
      take(cursor, longerUtf8.filter((least) => first >= least).length)
    }
    const bytes = Buffer.from(cursor.bytes.subarray(start, cursor.at))
    const text = bytes.toString('utf8')
    // An encoding other than the shortest would be written differently.
    const isExact = Buffer.from(text).equals(bytes) && !/\p{Cc}/u.test(text)
    return isExact ? text : fail(cursor, 'not_of_encoding', start)
  },
  write: (value) =>
    value.isWellFormed() && !/\p{Cc}/u.test(value)
      ? Buffer.from(value)
      : refuseWrite('not_of_encoding'),
}

/** The separator of track 2 is the nibble D (ISO/IEC 7813). */
const nibbles = '0123456789abc=ef'

const bcd: Encoding = {
  read(cursor, units, { oddPad, tolerant, type }) {
    if (type === 'x+n') {
      const sign = ascii.read(cursor, 1, { type })
      return sign + bcd.read(cursor, units - 1, { type: 'n', ...(oddPad && { oddPad }) })
    }
    const start = cursor.at
    const bytes = take(cursor, Math.ceil(units / 2))
    const packed = Buffer.from(bytes).toString('hex').replaceAll('d', '=')
    const isTrack = type === 'z'
    if (!(isTrack ? /^[0-9=f]*$/ : /^[0-9f]*$/).test(packed)) fail(cursor, 'not_digits', start)
    const isOdd = units % 2 === 1
    // Some hosts fill a track with F instead of the agreed nibble.
    if (tolerant && isTrack && /^[^f]+f$/.test(packed)) return packed.slice(0, -1)
    const unpadded = oddPad === 'left-0' ? packed.slice(1) : packed.slice(0, -1)
    const isPadded = isOdd && oddPad !== undefined && withPad(unpadded, oddPad) === packed
    if (isOdd && !isPadded) fail(cursor, 'wrong_padding', start)
    const digits = isOdd ? unpadded : packed
    return digits.includes('f') ? fail(cursor, 'not_digits', start) : digits
  },
  write(value, { oddPad, type }) {
    if (type === 'x+n') {
      const digits = bcd.write(value.slice(1), { type: 'n', ...(oddPad && { oddPad }) })
      return Buffer.concat([ascii.write(value.slice(0, 1), { type }), digits])
    }
    if (!(type === 'z' ? /^[0-9=]*$/ : /^[0-9]*$/).test(value)) refuseWrite('not_digits')
    const isEven = value.length % 2 === 0
    if (!isEven && !oddPad) refuseWrite('wrong_padding')
    const packed = isEven ? value : withPad(value, oddPad ?? 'left-0')
    return Uint8Array.from({ length: packed.length / 2 }, (_, at) => {
      const [high = '', low = ''] = packed.slice(2 * at, 2 * at + 2)
      return (nibbles.indexOf(high) << 4) | nibbles.indexOf(low)
    })
  },
}

const withPad = (digits: string, pad: NonNullable<FieldLayout['oddPad']>): string =>
  pad === 'left-0' ? `0${digits}` : digits + pad.at(-1)

const binary: Encoding = {
  read: (cursor, units) => Buffer.from(take(cursor, units)).toString('hex').toUpperCase(),
  write: (value) =>
    /^(?:[0-9A-F]{2})*$/.test(value) ? Buffer.from(value, 'hex') : refuseWrite('not_hexadecimal'),
}

const hexadecimal = (text: Encoding): Encoding => ({
  read(cursor, units, layout) {
    const start = cursor.at
    const read = text.read(cursor, 2 * units, layout)
    const digits = layout.tolerant ? read.toUpperCase() : read
    return /^[0-9A-F]*$/.test(digits) ? digits : fail(cursor, 'not_hexadecimal', start)
  },
  write: (value, layout) => text.write(binary.write(value, layout) && value, layout),
})

export const encodings: Readonly<Record<ValueEncoding, Encoding>> = {
  ascii,
  ebcdic,
  'utf-8': utf8,
  bcd,
  binary,
  'hex-ascii': hexadecimal(ascii),
  'hex-ebcdic': hexadecimal(ebcdic),
}
