/** The address of the cardholder as a merchant asked for it. */
export interface GivenAddress {
  readonly postalCode?: string
  readonly addressLine?: string
}

/** `not_checked`: the request had no such text, or the stored address could not be read. */
export const addressResults = ['match', 'mismatch', 'not_checked'] as const

/** The result of a comparison of addresses. It declines nothing: the merchant decides. */
export interface AddressOutcome {
  readonly postalCode: (typeof addressResults)[number]
  readonly addressLine: (typeof addressResults)[number]
}

/**
 * Compares a given address with the stored one.
 * @param stored null if it could not be read.
 */
export function compareAddress(
  given: GivenAddress,
  stored: { readonly postCode: string; readonly addressLine1: string } | null,
): AddressOutcome {
  const check = (
    text: string | undefined,
    own: string | undefined,
    isSame: (one: string, other: string) => boolean,
  ) => {
    if (text === undefined || own === undefined) return 'not_checked'
    return isSame(text, own) ? 'match' : 'mismatch'
  }
  return {
    postalCode: check(given.postalCode, stored?.postCode, isSamePostalCode),
    addressLine: check(given.addressLine, stored?.addressLine1, isSameAddressLine),
  }
}

/** Letters and digits in capitals: terminals add and drop spaces and dashes. */
const normalize = (text: string): string =>
  text
    .normalize('NFKD')
    .toUpperCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '')

/** A ZIP code of five digits is that of the code of nine digits which it begins. */
function isSamePostalCode(one: string, other: string): boolean {
  const [short = '', long = ''] = [normalize(one), normalize(other)].toSorted(
    (left, right) => left.length - right.length,
  )
  const isZip = /^[0-9]{5}$/.test(short) && /^[0-9]{9}$/.test(long)
  return short !== '' && (short === long || (isZip && long.startsWith(short)))
}

/** The most digits of an address line that terminals can type. */
const houseDigitsMost = 5

/**
 * Terminals type the digits of an address line only. So lines with digits are compared by their
 * first digits, and others as a whole.
 */
function isSameAddressLine(one: string, other: string): boolean {
  const digits = [one, other].map((text) =>
    normalize(text)
      .replaceAll(/[^0-9]/g, '')
      .slice(0, houseDigitsMost),
  )
  if (digits.some((each) => each !== '')) return digits[0] === digits[1]
  return normalize(one) !== '' && normalize(one) === normalize(other)
}
