/** The encoding of a value: text, packed digits, bytes, or bytes in hexadecimal digits. */
export type ValueEncoding =
  | 'ascii'
  | 'ebcdic'
  | 'utf-8'
  | 'bcd'
  | 'binary'
  | 'hex-ascii'
  | 'hex-ebcdic'

/**
 * The type of a value, in the letters of the standard; `b` is bytes, shown in hexadecimal capitals.
 */
export type FieldType = 'n' | 'a' | 'an' | 'ans' | 'x+n' | 'z' | 'b'

/** The length prefix of a value. */
export interface LengthPrefix {
  /** For a binary prefix, bytes. */
  readonly digits: number
  readonly encoding: 'ascii' | 'ebcdic' | 'bcd' | 'binary'
  /** The unit of packed digits: digits by default, or bytes. */
  readonly counts?: 'digits' | 'bytes'
}

/** One field on the wire. It has a `length`, or a `max` and a `prefix`. */
export interface FieldLayout {
  readonly type: FieldType
  readonly encoding: ValueEncoding
  /** In digits if packed, in bytes if binary, otherwise in characters. */
  readonly length?: number
  readonly max?: number
  readonly prefix?: LengthPrefix
  /**
   * The nibble that completes an odd number of packed digits; without it the number must be even.
   */
  readonly oddPad?: OddPad
  readonly parts?: PartsLayout
  /**
   * Whether other encodings of hosts are accepted: lower-case hexadecimal, Latin-1 in text, any
   * byte in text with a length prefix, a track filled with F, chip data in hexadecimal. Only one
   * encoding is written.
   */
  readonly tolerant?: true
}

type OddPad = 'left-0' | 'right-0' | 'right-f'

/** The structure of a value with parts. */
export type PartsLayout =
  /** Subfields after a bitmap, in a field of bytes; the first bit is a subfield like the others. */
  | {
      readonly kind: 'bitmap'
      readonly encoding: 'binary' | 'hex-ascii' | 'hex-ebcdic'
      readonly bits: number
      /** Bytes before the bitmap. */
      readonly header?: number
      readonly fields: Readonly<Record<string, FieldLayout>>
      /** Whether bytes of another form are accepted without parts. */
      readonly optional?: true
    }
  /** Tag, length and value in a text; tag and length have a fixed number of characters. */
  | {
      readonly kind: 'tlv'
      readonly tagLength: number
      readonly lengthDigits: number
      /** Characters before the first tag. */
      readonly header?: number
      /** Whether a text without tags, lengths and values is accepted without parts. */
      readonly optional?: true
    }
  /** Consecutive subfields in a text; the last ones may be absent. */
  | { readonly kind: 'row'; readonly lengths: Readonly<Record<string, number>> }
  /** Chip data (ISO/IEC 8825-1; EMV book 3, annex B), in a field of bytes. */
  | { readonly kind: 'ber-tlv' }

export interface BitmapLayout {
  readonly encoding: 'binary' | 'hex-ascii' | 'hex-ebcdic'
  /** Whether 16 bytes are sent even without a field above 64. */
  readonly size?: 'always-16'
  /** `false` if 16 bytes are sent and bit 1 is never set. */
  readonly indicator?: false
  /** Whether lower-case hexadecimal is accepted. */
  readonly tolerant?: true
}

/** The layout for reading and writing messages. */
export interface Layout {
  /** Bytes before the message type. */
  readonly header?: number
  readonly mti: 'ascii' | 'bcd' | 'ebcdic'
  readonly bitmap: BitmapLayout
  readonly fields: Readonly<Record<string, FieldLayout>>
}

/** A message: its type, and the values of its fields by number. */
export interface IsoMessage {
  readonly mti: string
  readonly fields: Readonly<Record<string, string>>
  /** The bytes before the type, in hexadecimal. */
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
 * `62.3`) and the byte offset in the message, never a value or a tag, which are bytes of the
 * message.
 */
export class CodecError extends Error {
  readonly fault: CodecFault
  readonly field: string
  /** Null while writing, when there is no offset yet. */
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
