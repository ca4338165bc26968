import type { FieldLayout, FieldType, Layout } from './layout.ts'

/** A field in a version of the standard, without its encoding. */
interface StandardField {
  readonly name: string
  /**
   * Type and length: `n6` has six digits, `n..19` up to 19 after a length of two digits; bytes for
   * `b`.
   */
  readonly format: string
  /** Whether its value may be shown, because it never contains a secret. */
  readonly shown: boolean
}

export type Version = '1987' | '1993'

const shown = (name: string, format: string): StandardField => ({ name, format, shown: true })
const masked = (name: string, format: string): StandardField => ({ name, format, shown: false })

/** Returns consecutive fields from `first` on, all alike. */
const alike = (first: number, last: number, field: StandardField): Record<number, StandardField> =>
  Object.fromEntries(
    Array.from({ length: last - first + 1 }, (_, at) => [first + at, field] as const),
  )

/** ISO 8583:1987, table 4. */
const fields1987: Readonly<Record<number, StandardField>> = {
  2: masked('primary account number', 'n..19'),
  3: shown('processing code', 'n6'),
  4: shown('amount, transaction', 'n12'),
  5: shown('amount, settlement', 'n12'),
  6: shown('amount, cardholder billing', 'n12'),
  7: shown('transmission date and time', 'n10'),
  8: shown('amount, cardholder billing fee', 'n8'),
  9: shown('conversion rate, settlement', 'n8'),
  10: shown('conversion rate, cardholder billing', 'n8'),
  11: shown('systems trace audit number', 'n6'),
  12: shown('time, local transaction', 'n6'),
  13: shown('date, local transaction', 'n4'),
  14: masked('date, expiration', 'n4'),
  15: shown('date, settlement', 'n4'),
  16: shown('date, conversion', 'n4'),
  17: shown('date, capture', 'n4'),
  18: shown('merchant type', 'n4'),
  19: shown('acquiring institution country code', 'n3'),
  20: shown('PAN extended, country code', 'n3'),
  21: shown('forwarding institution country code', 'n3'),
  22: shown('point of service entry mode', 'n3'),
  23: shown('card sequence number', 'n3'),
  24: shown('network international identifier', 'n3'),
  25: shown('point of service condition code', 'n2'),
  26: shown('point of service PIN capture code', 'n2'),
  27: shown('authorization identification response length', 'n1'),
  28: shown('amount, transaction fee', 'x+n9'),
  29: shown('amount, settlement fee', 'x+n9'),
  30: shown('amount, transaction processing fee', 'x+n9'),
  31: shown('amount, settlement processing fee', 'x+n9'),
  32: shown('acquiring institution identification code', 'n..11'),
  33: shown('forwarding institution identification code', 'n..11'),
  34: masked('primary account number, extended', 'ans..28'),
  35: masked('track 2 data', 'z..37'),
  36: masked('track 3 data', 'ans...104'),
  37: shown('retrieval reference number', 'an12'),
  38: shown('authorization identification response', 'an6'),
  39: shown('response code', 'an2'),
  40: shown('service restriction code', 'an3'),
  41: shown('card acceptor terminal identification', 'ans8'),
  42: shown('card acceptor identification code', 'ans15'),
  43: shown('card acceptor name and location', 'ans40'),
  44: masked('additional response data', 'ans..25'),
  45: masked('track 1 data', 'ans..76'),
  46: masked('additional data, ISO', 'ans...999'),
  47: masked('additional data, national', 'ans...999'),
  48: masked('additional data, private', 'ans...999'),
  49: shown('currency code, transaction', 'an3'),
  50: shown('currency code, settlement', 'an3'),
  51: shown('currency code, cardholder billing', 'an3'),
  52: masked('PIN data', 'b8'),
  53: shown('security related control information', 'n16'),
  54: shown('additional amounts', 'ans...120'),
  55: masked('chip data', 'ans...999'),
  ...alike(56, 63, masked('private use', 'ans...999')),
  64: shown('message authentication code', 'b8'),
  66: shown('settlement code', 'n1'),
  67: shown('extended payment code', 'n2'),
  68: shown('receiving institution country code', 'n3'),
  69: shown('settlement institution country code', 'n3'),
  70: shown('network management information code', 'n3'),
  71: shown('message number', 'n4'),
  72: shown('message number, last', 'n4'),
  73: shown('date, action', 'n6'),
  ...alike(74, 77, shown('number of credits and debits', 'n10')),
  ...alike(78, 81, shown('number of transfers, inquiries and authorizations', 'n10')),
  ...alike(82, 85, shown('amount of fees', 'n12')),
  ...alike(86, 89, shown('amount of credits and debits', 'n16')),
  90: masked('original data elements', 'n42'),
  91: shown('file update code', 'an1'),
  92: shown('file security code', 'an2'),
  93: shown('response indicator', 'an5'),
  94: shown('service indicator', 'an7'),
  95: shown('replacement amounts', 'an42'),
  96: masked('message security code', 'b8'),
  97: shown('amount, net settlement', 'x+n17'),
  98: shown('payee', 'ans25'),
  99: shown('settlement institution identification code', 'n..11'),
  100: shown('receiving institution identification code', 'n..11'),
  101: shown('file name', 'ans..17'),
  102: masked('account identification 1', 'ans..28'),
  103: masked('account identification 2', 'ans..28'),
  104: masked('transaction description', 'ans...100'),
  ...alike(105, 127, masked('private use', 'ans...999')),
  128: shown('message authentication code', 'b8'),
}

/** ISO 8583:1993, where it differs. */
const fields1993: Readonly<Record<number, StandardField>> = {
  ...fields1987,
  12: shown('date and time, local transaction', 'n12'),
  13: shown('date, effective', 'n4'),
  15: shown('date, settlement', 'n6'),
  22: shown('point of service data code', 'ans12'),
  24: shown('function code', 'n3'),
  25: shown('message reason code', 'n4'),
  26: shown('card acceptor business code', 'n4'),
  27: shown('approval code length', 'n1'),
  28: shown('date, reconciliation', 'n6'),
  29: shown('reconciliation indicator', 'n3'),
  30: shown('amounts, original', 'n24'),
  31: shown('acquirer reference data', 'ans..99'),
  37: shown('retrieval reference number', 'ans12'),
  38: shown('approval code', 'ans6'),
  39: shown('action code', 'n3'),
  40: shown('service code', 'n3'),
  43: shown('card acceptor name and location', 'ans..99'),
  44: masked('additional response data', 'ans..99'),
  46: shown('amounts, fees', 'ans...204'),
  49: shown('currency code, transaction', 'ans3'),
  50: shown('currency code, reconciliation', 'ans3'),
  51: shown('currency code, cardholder billing', 'ans3'),
  53: masked('security related control information', 'b..48'),
  55: masked('chip data', 'b...255'),
  56: masked('original data elements', 'n..35'),
  57: shown('authorization life cycle code', 'n3'),
  58: shown('authorizing agent institution identification code', 'n..11'),
  66: shown('amounts, original fees', 'ans...204'),
  71: shown('message number', 'n8'),
  72: masked('data record', 'ans...999'),
  90: shown('amounts of fees', 'n10'),
  91: shown('country code, transaction destination institution', 'n3'),
  92: shown('country code, transaction originator institution', 'n3'),
  93: shown('transaction destination institution identification code', 'n..11'),
  94: shown('transaction originator institution identification code', 'n..11'),
  95: shown('card issuer reference data', 'ans..99'),
  96: masked('key management data', 'b...999'),
}

export const standardFields: Readonly<Record<Version, Readonly<Record<string, StandardField>>>> = {
  '1987': fields1987,
  '1993': fields1993,
}

export type WireEncoding = 'ascii' | 'bcd' | 'ebcdic'

/** Creates the layout of a version in one of its encodings. */
export function createLayout(version: Version, encoding: WireEncoding): Layout {
  const bitmaps = { ascii: 'hex-ascii', bcd: 'binary', ebcdic: 'hex-ebcdic' } as const
  const fields = Object.entries(standardFields[version]).map(
    ([number, { format }]) => [number, createFieldLayout(format, encoding, version)] as const,
  )
  return {
    mti: encoding,
    bitmap: { encoding: bitmaps[encoding] },
    fields: Object.fromEntries(fields),
  }
}

/** In `bcd`, digits and lengths are packed, text is ASCII, and bytes are bytes. */
function createFieldLayout(format: string, encoding: WireEncoding, version: Version): FieldLayout {
  const [, letters = '', dots = '', digits] = /^([a-z+]+)(\.*)([0-9]+)$/.exec(format) ?? []
  const type = letters as FieldType
  const isPacked = encoding === 'bcd' && ['n', 'z', 'x+n'].includes(type)
  const text = encoding === 'bcd' && !isPacked ? 'ascii' : encoding
  const hex = { ascii: 'hex-ascii', bcd: 'binary', ebcdic: 'hex-ebcdic' } as const
  // Bytes of variable length are sent as bytes in every encoding.
  const bytes = dots === '' ? hex[encoding] : 'binary'
  const isLeft = version === '1987' && dots === ''
  return {
    type,
    encoding: type === 'b' ? bytes : text,
    ...(dots === ''
      ? { length: Number(digits) }
      : { max: Number(digits), prefix: { digits: dots.length, encoding } }),
    ...(isPacked && { oddPad: isLeft ? 'left-0' : 'right-0' }),
  }
}
