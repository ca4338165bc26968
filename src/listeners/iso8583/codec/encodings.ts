import { CodecError, type CodecFault, type FieldLayout, type ValueEncoding } from './layout.ts'

/** Where a reader stands in bytes, and what it reads there. */
export interface Cursor {
  readonly bytes: Uint8Array
  at: number
  /** What a fault is said of. */
  field: string
}

/** @throws CodecError of the field that is read. */
export function fail(cursor: Cursor, fault: CodecFault, at = cursor.at): never {
  throw new CodecError(fault, cursor.field, at)
}

/** The next bytes. @throws CodecError `too_short`. */
export function take(cursor: Cursor, count: number): Uint8Array {
  const end = cursor.at + count
  if (end > cursor.bytes.length) fail(cursor, 'too_short')
  const taken = cursor.bytes.subarray(cursor.at, end)
  cursor.at = end
  return taken
}

/** How values of one encoding are read and written. Units are digits, bytes or characters. */
interface Encoding {
  read(cursor: Cursor, units: number, layout: EncodedLayout): string
  /** @throws CodecFault as a text, for the caller to name the field. */
  write(value: string, layout: EncodedLayout): Uint8Array
}

type EncodedLayout = Pick<FieldLayout, 'type' | 'oddPad'>

/** IBM code page 1047, which mainframes of networks use: what stands for 0x20 to 0x7E of ASCII. */
const ebcdicOfAscii =
  '405A7F7B5B6C507D4D5D5C4E6B604B61F0F1F2F3F4F5F6F7F8F97A5E4C7E6E6F7CC1C2C3C4C5C6C7C8C9D1D2D3D4D5D6' +
  'D7D8D9E2E3E4E5E6E7E8E9ADE0BD5F6D79818283848586878889919293949596979899A2A3A4A5A6A7A8A9C04FD0A1'
const toEbcdic = new Map(
  [...Buffer.from(ebcdicOfAscii, 'hex')].map((byte, at) => [at + 0x20, byte]),
)
const fromEbcdic = new Map([...toEbcdic].map(([ascii, byte]) => [byte, ascii]))

/** A fault of a value that is written; who writes the field names it. */
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

const ascii: Encoding = {
  read(cursor, units) {
    const start = cursor.at
    const { buffer, byteOffset, length } = take(cursor, units)
    const text = Buffer.from(buffer, byteOffset, length).toString('latin1')
    if (printable.test(text)) return text
    const wrong = Array.from(text).findIndex((character) => !printable.test(character))
    return fail(cursor, 'not_of_encoding', start + wrong)
  },
  write: (value) =>
    printable.test(value) ? Buffer.from(value, 'latin1') : refuseWrite('not_of_encoding'),
}

const ebcdic: Encoding = {
  read(cursor, units) {
    const start = cursor.at
    const codes = Array.from(
      take(cursor, units),
      (byte, at) => fromEbcdic.get(byte) ?? fail(cursor, 'not_of_encoding', start + at),
    )
    return String.fromCharCode(...codes)
  },
  write: (value) =>
    Uint8Array.from(
      Buffer.from(printable.test(value) ? value : refuseWrite('not_of_encoding')),
      (code) => toEbcdic.get(code) ?? 0,
    ),
}

/** First bytes of characters of two, three and four bytes. */
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
    // What is not the one way to write its characters would be written otherwise.
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
  read(cursor, units, { oddPad, type }) {
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
    const digits = text.read(cursor, 2 * units, layout)
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
