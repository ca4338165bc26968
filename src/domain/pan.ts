import { Secret } from './secret.ts'

/** The first digits of the PANs of a network, and their lengths. */
interface BinRange {
  /** The network; a second range of the same network ends in `-2`. */
  readonly name: string
  readonly prefixes: readonly Span[]
  readonly lengths: readonly Span[]
}

/** The lowest and the highest prefix of a range, both inclusive. */
type Span = readonly [low: string, high: string]

/** The published ranges of the networks (allocated under ISO/IEC 7812-2). */
export const binRanges: readonly BinRange[] = [
  binRange('visa', '4', '13,16,19'),
  binRange('mastercard', '51-55', '16'),
  binRange('mastercard-2', '2221-2720', '16'),
  binRange('amex', '34,37', '15'),
  binRange('discover', '6011,644-649,65', '16-19'),
  binRange('diners', '36,38-39,300-305', '14-19'),
  binRange('jcb', '3528-3589', '16-19'),
  binRange('unionpay', '62', '16-19'),
  binRange('maestro', '5018,5020,5038,5893,6304,6759,6761-6763', '12-19'),
  binRange('mir', '2200-2204', '16-19'),
]

/** Whether the first digits of a BIN or a PAN belong to the range. */
export const matchesPrefix = (range: BinRange, digits: string): boolean =>
  range.prefixes.some(([low, high]) => {
    const prefix = digits.slice(0, low.length)
    return prefix.length === low.length && prefix >= low && prefix <= high
  })

/** Whether PANs of the range may have this many digits. */
export const matchesLength = (range: BinRange, length: number): boolean =>
  range.lengths.some(([low, high]) => length >= Number(low) && length <= Number(high))

/** Returns the range that a whole PAN matches by its first digits and its length, or null. */
export const findBinRange = (pan: string): BinRange | null =>
  binRanges.find((range) => matchesPrefix(range, pan) && matchesLength(range, pan.length)) ?? null

/**
 * Lists the ranges of a scheme by its common name, such as `Visa`; none if the ranges are
 * unpublished.
 */
export const listSchemeRanges = (schemeName: string): readonly BinRange[] =>
  binRanges.filter(({ name }) => name.replace(/-2$/, '') === schemeName.toLowerCase())

function binRange(name: string, prefixes: string, lengths: string): BinRange {
  return { name, prefixes: spans(prefixes), lengths: spans(lengths) }
}

function spans(notation: string): readonly Span[] {
  return notation.split(',').map((span) => {
    const [low = '', high = low] = span.split('-')
    return [low, high]
  })
}

/** The number of digits of a PAN issued by this service. */
export const PAN_LENGTH = 16

/**
 * A primary account number of 12 to 19 digits, Luhn-valid (ISO/IEC 7812-1). It prints as its mask
 * in strings, JSON and logs.
 */
export class Pan extends Secret<string> {
  /** @throws RangeError if the text is not a PAN. The message does not contain the digits. */
  constructor(digits: string) {
    if (!isPan(digits)) throw new RangeError('not a PAN')
    super(digits, maskPan(digits))
  }

  /** The first six and the last four digits, as `400000******1234` (PCI DSS 3.4.1). */
  get masked(): string {
    return this.toString()
  }

  /** The last four digits. */
  get lastFour(): string {
    return this.masked.slice(-4)
  }
}

/** Whether the text is 12 to 19 digits that are Luhn-valid. */
export const isPan = (text: string): boolean => /^[0-9]{12,19}$/.test(text) && isLuhnValid(text)

/** Parses a PAN from outside; returns null for other texts. */
export const parsePan = (text: string): Pan | null => (isPan(text) ? new Pan(text) : null)

/**
 * The number of account digits between a BIN and the check digit of a PAN issued by this service.
 */
export const accountLength = (bin: string): number => PAN_LENGTH - 1 - bin.length

/**
 * Builds a PAN of 16 digits from a BIN and random account digits, `accountLength(bin)` of them.
 * @throws RangeError for any other number of digits.
 */
export function buildPan(bin: string, accountDigits: string): Pan {
  const body = bin + accountDigits
  if (body.length !== PAN_LENGTH - 1) throw new RangeError('wrong number of account digits')
  return new Pan(body + luhnCheckDigit(body))
}

/**
 * Masks a PAN of 12 to 19 digits: the first six and the last four digits remain, the others become
 * asterisks.
 */
export const maskPan = (digits: string): string =>
  digits.slice(0, 6) + '*'.repeat(digits.length - 10) + digits.slice(-4)

/** Whether the last digit is the check digit of the digits before it (ISO/IEC 7812-1 annex B). */
export const isLuhnValid = (digits: string): boolean =>
  /^[0-9]{2,}$/.test(digits) && luhnCheckDigit(digits.slice(0, -1)) === digits.slice(-1)

/** Returns the digit that makes the digits before it Luhn-valid (ISO/IEC 7812-1 annex B). */
export function luhnCheckDigit(digitsWithoutCheck: string): string {
  if (!/^[0-9]+$/.test(digitsWithoutCheck)) throw new RangeError('not digits')
  let sum = 0
  for (let place = 1; place <= digitsWithoutCheck.length; place++) {
    const digit = Number(digitsWithoutCheck.at(-place))
    sum += place % 2 === 1 ? doubled(digit) : digit
  }
  return String((10 - (sum % 10)) % 10)
}

const doubled = (digit: number): number => (digit < 5 ? digit * 2 : digit * 2 - 9)

/**
 * Whether free text may hold a PAN: a Luhn-valid run of 12 to 19 digits in any script, ignoring
 * spaces, dashes and invisible characters. The check covers each run as a whole, each group of
 * digits between separators, and each part of a run with the first digits and the length of a
 * network's PAN. An expiry or a CVV next to a PAN therefore does not hide it. Dots between groups
 * of digits hide no PAN of a network either.
 */
export function holdsPan(text: string): boolean {
  const inAscii = withAsciiDigits(text)
  const runs = inAscii.match(digitRun) ?? []
  return (
    runs.some((run) => {
      const groups = run.split(separators)
      const digits = groups.join('')
      return isPan(digits) || groups.some(isPan) || holdsNetworkPan(digits)
    }) || (inAscii.match(dottedRun) ?? []).some(holdsDottedPan)
  )
}

/**
 * Whether consecutive groups of digits are together a PAN of a network. Addresses, amounts and
 * times have dots, too: so only whole groups count, and only the published ranges.
 */
function holdsDottedPan(run: string): boolean {
  if (!/[.\u00B7]/.test(run)) return false
  const groups = run.split(dottedSeparators)
  const boundaries = new Set([0])
  let length = 0
  for (const group of groups) {
    length += group.length
    boundaries.add(length)
  }
  return holdsNetworkPan(groups.join(''), (at) => boundaries.has(at))
}

/**
 * Lists what may be PANs issued by this service in an id of a network: each part of 16 digits that
 * is Luhn-valid, ignoring dots, dashes and underscores. One in ten parts is by chance.
 */
export function listPossiblePans(id: string): Pan[] {
  const runs = id.replaceAll(/[._-]/g, '').match(/[0-9]{16,}/g) ?? []
  return runs.flatMap((run) =>
    Array.from({ length: run.length - PAN_LENGTH + 1 }, (_, at) =>
      parsePan(run.slice(at, at + PAN_LENGTH)),
    ).filter((pan) => pan !== null),
  )
}

/** More digits in a row than a truncated PAN of sixteen digits shows (PCI DSS 3.5.1). */
const panPartLength = 9

/** The first digits, which all cards of a BIN have and many ids begin with: `000000012345678`. */
const commonDigits = 3

/**
 * Whether a text holds a part of this PAN, in the digits of any script and whatever is between
 * them. An id of fifteen digits may be Luhn-valid by chance, but it has no digits of the card.
 */
export function holdsPanPart(pan: string, text: string): boolean {
  const own = pan.slice(commonDigits)
  const digits = withAsciiDigits(text).replaceAll(/[^0-9]/g, '')
  for (let at = 0; at + panPartLength <= digits.length; at += 1) {
    if (own.includes(digits.slice(at, at + panPartLength))) return true
  }
  return false
}

/** Replaces the digits of every script with 0 to 9. */
const withAsciiDigits = (text: string): string =>
  text.normalize('NFKC').replace(/(?![0-9])\p{Nd}/gu, digitValue)

/**
 * Removes the UUIDs of a text (RFC 9562, section 4). One of 170 random UUIDs holds digits that look
 * like a PAN.
 */
export const withoutUuids = (text: string): string => text.replaceAll(uuid, 'uuid')

const uuid =
  /(?<![0-9a-z])[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}(?![0-9a-z])/gi

// Not every part of 12 digits counts: four of five strings of 16 random digits have a Luhn-valid
// part by chance, and valid references would be rejected.
function holdsNetworkPan(
  digits: string,
  isBoundary: (at: number) => boolean = () => true,
): boolean {
  const isStretchValid = stretches(digits)
  for (let start = 0; start + 12 <= digits.length; start++) {
    if (!isBoundary(start)) continue
    for (const length of networkLengths(digits.slice(start, start + 4))) {
      const end = start + length
      if (end <= digits.length && isBoundary(end) && isStretchValid(start, end)) return true
    }
  }
  return false
}

const lengthsByPrefix = new Map<string, readonly number[]>()

/**
 * The lengths of network PANs that begin with these four digits. Cached, because a long text has
 * many prefixes.
 */
function networkLengths(prefix: string): readonly number[] {
  const known = lengthsByPrefix.get(prefix)
  if (known) return known
  const ranges = binRanges.filter((range) => matchesPrefix(range, prefix))
  const lengths = [12, 13, 14, 15, 16, 17, 18, 19].filter((length) =>
    ranges.some((range) => matchesLength(range, length)),
  )
  lengthsByPrefix.set(prefix, lengths)
  return lengths
}

/**
 * Returns a function that tells whether any part of the digits is Luhn-valid. The sums are computed
 * once, and each digit is read twice, however many parts are checked.
 */
function stretches(digits: string): (start: number, end: number) => boolean {
  // The sums with the digits at even places doubled, and at odd places.
  const sums = [0, 1].map((doubledPlaces) => {
    const sum = new Uint32Array(digits.length + 1)
    for (let place = 0; place < digits.length; place++) {
      const digit = Number(digits[place])
      const weighed = place % 2 === doubledPlaces ? doubled(digit) : digit
      sum[place + 1] = (sum[place] ?? 0) + weighed
    }
    return sum
  })
  return (start, end) => {
    // The last digit of a part is never doubled, the one before it is.
    const sum = sums[end % 2]
    return ((sum?.[end] ?? 0) - (sum?.[start] ?? 0)) % 10 === 0
  }
}

// Spaces, dashes (Unicode does not class the minus sign as one), and characters that are invisible
// or decorate a digit.
const separator = '[\\s\\p{Z}\\p{Pd}\\p{Cf}\\p{M}\\p{Default_Ignorable_Code_Point}\\u2212]'
const separators = new RegExp(`${separator}+`, 'u')
const digitRun = new RegExp(`[0-9](?:${separator}*[0-9]){11,}`, 'gu')
const dottedSeparator = separator.replace('[', '[.\\u00B7')
const dottedSeparators = new RegExp(`${dottedSeparator}+`, 'u')
const dottedRun = new RegExp(`[0-9](?:${dottedSeparator}*[0-9]){11,}`, 'gu')

const valuesByDigit = new Map<string, string>()

function digitValue(character: string): string {
  const value = valuesByDigit.get(character) ?? findDigitValue(character)
  valuesByDigit.set(character, value)
  return value
}

// Unicode encodes the decimal digits of a script as ten consecutive code points, zero first.
function findDigitValue(character: string): string {
  let before = character.codePointAt(0) ?? 0
  const place = before
  while (/^\p{Nd}$/u.test(String.fromCodePoint(before - 1))) before--
  return String((place - before) % 10)
}
