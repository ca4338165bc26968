import { type Pan, parsePan } from './pan.ts'
import { Secret } from './secret.ts'

/** The content of track 2. */
interface Track2Content {
  readonly pan: Pan
  /** YYMM. */
  readonly expiry: string
  /** 3 digits. */
  readonly serviceCode: string
  /** The issuer's own data: PIN verification data, a card verification value, counters. */
  readonly discretionary: string
}

declare const track2: unique symbol

/**
 * Track 2 of a magnetic stripe (ISO/IEC 7813), or the equivalent data of a chip. It prints as
 * `****`.
 */
export class Track2 extends Secret<Track2Content> {
  // Without a member of its own, the type would accept another secret.
  declare readonly [track2]: true
}

/**
 * Parses track 2 without its sentinels: the PAN, a separator (`=` or `D`), the expiry, the service
 * code and the discretionary data.
 *
 * @returns null if it is not complete, or has another form.
 */
export function parseTrack2(text: string): Track2 | null {
  const [, digits = '', expiry = '', serviceCode = '', discretionary = ''] =
    /^([0-9]{12,19})[=D]([0-9]{4})([0-9]{3})([0-9]*)F?$/.exec(text) ?? []
  const pan = parsePan(digits)
  return pan && text.length <= 38 ? new Track2({ pan, expiry, serviceCode, discretionary }) : null
}

/** The content of a CAVV. */
interface CavvContent {
  /** The version of the key that made it. */
  readonly keyVersion: number
  /** 4 digits, in place of an expiry. */
  readonly unpredictableNumber: string
  /** The result of the authentication and its second factor: 3 digits, as a service code. */
  readonly authenticationResult: string
  /** 3 digits. */
  readonly value: string
}

declare const cavv: unique symbol

/**
 * The cardholder authentication verification value of a 3-D Secure payment. It prints as `****`.
 * Null inside: it has another form, and is wrong for every card.
 */
export class Cavv extends Secret<CavvContent | null> {
  declare readonly [cavv]: true
}

/**
 * Parses a CAVV of 20 bytes in hexadecimal digits (Visa Secure): the result of the authentication,
 * its second factor, the indicator of the key, the value, the unpredictable number, the tracking
 * number of the authentication and its version.
 */
export function parseCavv(hexadecimal: string): Cavv {
  const [, result, factor, keyIndicator, value, unpredictableNumber] =
    /^0([0-9])([0-9]{2})([0-9]{2})0([0-9]{3})([0-9]{4})[0-9A-F]{26}$/i.exec(hexadecimal) ?? []
  if (value === undefined || unpredictableNumber === undefined) return new Cavv(null)
  return new Cavv({
    keyVersion: Number(keyIndicator),
    unpredictableNumber,
    authenticationResult: `${result}${factor}`,
    value,
  })
}
