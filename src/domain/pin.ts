import type { Expiry } from './calendar.ts'
import { Secret } from './secret.ts'

/** The minimum length of a PIN (ISO 9564-1 section 8.1). */
export const PIN_LENGTH_MIN = 4
/** The maximum length of a PIN (ISO 9564-1 section 8.1). */
export const PIN_LENGTH_MAX = 12

/**
 * A PIN of 4 to 12 digits. It prints as `****` in strings, JSON and logs, so that its length is
 * hidden, too.
 */
export class Pin extends Secret<string> {
  /** @throws RangeError if the text is not a PIN. The message does not contain the digits. */
  constructor(digits: string) {
    if (!isPin(digits)) throw new RangeError('not a PIN')
    super(digits)
  }

  /** How many digits it has. */
  get length(): number {
    return this.reveal().length
  }
}

/** Whether the text is 4 to 12 digits. */
const isPin = (text: string): boolean => /^[0-9]{4,12}$/.test(text)

/** Parses a PIN from outside; returns null for other texts. */
export const parsePin = (text: string): Pin | null => (isPin(text) ? new Pin(text) : null)

/** The known facts about a card and its holder. Unknown members are absent. */
export interface WeakPinContext {
  /** `YYYY-MM-DD`. */
  readonly dateOfBirth?: string | undefined
  readonly expiry?: Expiry | undefined
  /**
   * `400000******1234`. The hidden digits are never checked, because the answer would disclose
   * them.
   */
  readonly maskedPan?: string | undefined
}

/** One reason to reject a PIN. */
interface WeakPinRule {
  readonly name: string
  /** The sentence that a caller reads. */
  readonly detail: string
  readonly matches: (digits: string, context: WeakPinContext) => boolean
}

/** Returns why a PIN is easy to guess, as a sentence, or null if it breaks no rule. */
export const weakPinReason = (pin: Pin, context: WeakPinContext): string | null =>
  weakPinRule(pin, context)?.detail ?? null

/** Returns the first rule that a PIN breaks, or null. */
export function weakPinRule(pin: Pin, context: WeakPinContext): WeakPinRule | null {
  const digits = pin.reveal()
  return weakPinRules.find((rule) => rule.matches(digits, context)) ?? null
}

/**
 * The rules, in the order in which they are checked. The rules about the card and its holder use
 * patterns of at least four digits. A PIN breaks them if the pattern leaves at most two digits to
 * guess.
 */
export const weakPinRules: readonly WeakPinRule[] = [
  rule('uniform', 'One digit repeated.', (pin) => hasPeriod(pin, 1)),
  rule('ascending series', 'An ascending series.', (pin) => isSeries(pin, 1)),
  rule('descending series', 'A descending series.', (pin) => isSeries(pin, 9)),
  rule('repeated pair', 'A repeated pair of digits.', (pin) => hasPeriod(pin, 2)),
  rule('repeated triple', 'A repeated group of three digits.', (pin) => hasPeriod(pin, 3)),
  rule('repeated group', 'A repeated group of digits.', (pin) =>
    [4, 5, 6].some((period) => hasPeriod(pin, period)),
  ),
  rule(
    'palindrome',
    'The same digits read backwards.',
    (pin) => [...pin].reverse().join('') === pin,
  ),
  rule('doubled series', 'A series of repeated digits.', isMultipliedSeries),
  rule('keypad column', 'A column of the keypad.', (pin) => /^(?:2580|0852)$/.test(pin)),
  rule('keypad pattern', 'A pattern on the keypad.', (pin) => keypadLines.test(pin)),
  rule('popular', 'One of the most common PINs.', (pin) => popular.includes(pin)),
  birth('DDMM of birth', 'The day and month of birth.', ({ day, month }) => [day + month]),
  birth('MMDD of birth', 'The month and day of birth.', ({ day, month }) => [month + day]),
  birth('MMYY of birth', 'The month and year of birth.', ({ month, year }) => [
    month + year.slice(2),
  ]),
  birth('year of birth', 'The year of birth.', ({ year }) => [year]),
  birth('date of birth', 'The date of birth.', ({ year, month, day }) =>
    [year, year.slice(2)].flatMap((years) => [
      day + month + years,
      month + day + years,
      years + month + day,
    ]),
  ),
  rule('expiry', 'The expiry date of the card.', (pin, { expiry }) =>
    expiry ? isMostly(pin, [expiry.mmyy(), expiry.yymm()]) : false,
  ),
  rule(
    '4 consecutive shown PAN digits',
    'Consecutive digits of the card number that are shown.',
    (pin, { maskedPan }) => isMostly(pin, shownStretches(maskedPan ?? '')),
  ),
  rule('year 19xx', 'A year.', (pin) => /^(?:19[0-9]{2})+$/.test(pin)),
  rule('year 20xx', 'A year.', (pin) => /^(?:20[0-9]{2})+$/.test(pin)),
]

function rule(name: string, detail: string, matches: WeakPinRule['matches']): WeakPinRule {
  return { name, detail, matches }
}

interface DateParts {
  readonly year: string
  readonly month: string
  readonly day: string
}

/** Makes a rule about patterns of the date of birth. */
function birth(
  name: string,
  detail: string,
  patterns: (date: DateParts) => readonly string[],
): WeakPinRule {
  return rule(name, detail, (pin, { dateOfBirth }) => {
    const [year, month, day] = dateOfBirth?.split('-') ?? []
    return year && month && day ? isMostly(pin, patterns({ year, month, day })) : false
  })
}

// A long PIN may contain a pattern and still be hard to guess: three tries do not cover a thousand
// values. Only PINs with at most two unknown digits count.
const isMostly = (pin: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => pin.includes(pattern) && pin.length - pattern.length <= 2)

/** Lists every 4, 5 and 6 consecutive digits that a masked PAN shows. */
function shownStretches(maskedPan: string): readonly string[] {
  const runs = maskedPan.split('*')
  return runs.flatMap((shown) =>
    [4, 5, 6].flatMap((length) =>
      Array.from({ length: Math.max(0, shown.length - length + 1) }, (_, start) =>
        shown.slice(start, start + length),
      ),
    ),
  )
}

/**
 * Whether the digits consist of at least two groups of `period` digits; the last group may be
 * incomplete.
 */
const hasPeriod = (digits: string, period: number): boolean =>
  digits.length >= period * 2 && digits.startsWith(digits.slice(period))

/** Whether each digit is `step` more than the one before it; 0 follows 9, as on a keypad. */
const isSeries = (digits: string, step: number): boolean =>
  [...digits.slice(1)].every(
    (digit, index) => Number(digit) === (Number(digits[index]) + step) % 10,
  )

/** Whether the digits are a series with each digit repeated equally often, as in 1122 or 111222. */
function isMultipliedSeries(digits: string): boolean {
  const runs = digits.match(/(.)\1+/g) ?? []
  const [first = ''] = runs
  const series = runs.map((run) => run.charAt(0)).join('')
  const isEven = runs.every((run) => run.length === first.length)
  return isEven && runs.join('') === digits && (isSeries(series, 1) || isSeries(series, 9))
}

// Rows, columns and diagonals of the keypad, in either direction.
const keypadLines = /^(?:123|321|456|654|789|987|147|741|258|852|369|963|159|951|357|753){2,}$/

// From the published counts of leaked PINs, without those that the other rules reject.
const popular = ['1004', '0007', '1357', '2468', '5683']
