/**
 * How a value is written: as text, as packed digits, as bytes, or as bytes in hexadecimal digits.
 */
export type ValueEncoding =
  | 'ascii'
  | 'ebcdic'
  | 'utf-8'
  | 'bcd'
  | 'binary'
  | 'hex-ascii'
  | 'hex-ebcdic'

/**
 * What a value may hold, in the letters of the standard; `b` is bytes, shown in hexadecimal
 * capitals.
 */
export type FieldType = 'n' | 'a' | 'an' | 'ans' | 'x+n' | 'z' | 'b'

/** What stands before a value and says how long it is. */
export interface LengthPrefix {
  /** Of a binary one, bytes. */
  readonly digits: number
  readonly encoding: 'ascii' | 'ebcdic' | 'bcd' | 'binary'
  /** What of packed digits is counted: the digits, unless it is the bytes. */
  readonly counts?: 'digits' | 'bytes'
}

/** One field on the wire. It has a `length`, or a `max` and a `prefix`. */
export interface FieldLayout {
  readonly type: FieldType
  readonly encoding: ValueEncoding
  /** In digits when packed, in bytes when binary, else in characters. */
  readonly length?: number
  readonly max?: number
  readonly prefix?: LengthPrefix
  /** The nibble beside an odd number of packed digits; without it their number must be even. */
  readonly oddPad?: OddPad
  readonly parts?: PartsLayout
  /**
   * Whether other spellings of hosts are read as well: hexadecimal in small letters, Latin-1 in
   * text, any byte in text that has a length before it, a track that is filled with F, chip data in
   * hexadecimal. One spelling is written.
   */
  readonly tolerant?: true
}

type OddPad = 'left-0' | 'right-0' | 'right-f'

/** What a value is made of. */
export type PartsLayout =
  /**
   * Subfields behind a bitmap of their own, in a field of bytes; its first bit is a subfield like
   * others.
   */
  | {
      readonly kind: 'bitmap'
      readonly encoding: 'binary' | 'hex-ascii' | 'hex-ebcdic'
      readonly bits: number
      /** Bytes before the bitmap. */
      readonly header?: number
      readonly fields: Readonly<Record<string, FieldLayout>>
    }
  /** Tag, length and value in a text; both of the first two have a number of characters. */
  | {
      readonly kind: 'tlv'
      readonly tagLength: number
      readonly lengthDigits: number
      /** Characters before the first tag. */
      readonly header?: number
      /** Whether a text that is no tags, lengths and values is taken as it is, without parts. */
      readonly optional?: true
    }
  /** Subfields one after the other, in a text; the last ones may be left out. */
  | { readonly kind: 'row'; readonly lengths: Readonly<Record<string, number>> }
  /** Chip data (ISO/IEC 8825-1; EMV book 3, annex B), in a field of bytes. */
  | { readonly kind: 'ber-tlv' }

export interface BitmapLayout {
  readonly encoding: 'binary' | 'hex-ascii' | 'hex-ebcdic'
  /** Where 16 bytes are sent also without a field above 64. */
  readonly size?: 'always-16'
  /** `false` where 16 bytes are sent and bit 1 never says so. */
  readonly indicator?: false
  /** Whether hexadecimal is read in small letters, too. */
  readonly tolerant?: true
}

/** All that is to be known to read and write messages. */
export interface Layout {
  /** Bytes before the message type. */
  readonly header?: number
  readonly mti: 'ascii' | 'bcd' | 'ebcdic'
  readonly bitmap: BitmapLayout
  readonly fields: Readonly<Record<string, FieldLayout>>
}

/** A message: its type, and the values of its fields by their numbers. */
export interface IsoMessage {
  readonly mti: string
  readonly fields: Readonly<Record<string, string>>
  /** What stands before the type, in hexadecimal. */
  readonly header?: string
}

const reasons = {
  too_short: 'the message ends within it',
  bytes_left: 'bytes follow the last field',
  not_digits: 'not digits',
  not_hexadecimal: 'not hexadecimal capitals',
  not_of_type: 'a character that its type does not allow',
  not_of_encoding: 'a byte that its encoding does not allow',
  wrong_length: 'of the wrong length',
  too_long: 'longer than its maximum',
  wrong_padding: 'a wrong fill nibble',
  unknown_field: 'not in the layout',
  wrong_bitmap: 'a bitmap that names no field, or a bit with another use',
  wrong_parts: 'its parts do not fill it',
} as const

export type CodecFault = keyof typeof reasons

/**
 * The only error of the codec. It names the field by its place in the layout (`mti`, `bitmap`, `4`,
 * `62.3`) and the place in the message, in bytes from its beginning, and never a value or a tag,
 * which are bytes of the message.
 */
export class CodecError extends Error {
  readonly fault: CodecFault
  readonly field: string
  /** Null where a value is written, which has no place yet. */
  readonly offset: number | null

  constructor(fault: CodecFault, field: string, offset: number | null) {
    const place = offset === null ? '' : ` (byte ${offset})`
    super(`Field ${field}: ${reasons[fault]}${place}.`)
    this.name = 'CodecError'
    this.fault = fault
    this.field = field
    this.offset = offset
  }
}
